#!/usr/bin/env bash
# Installs the Debian packages this project needs and that are missing. Asks nothing; a second run is a glance.
# Usage: scripts/setup.sh build|python|test|bench|lint
set -euo pipefail

build=(g++ cmake ninja-build make ccache libfmt-dev libcli11-dev nlohmann-json3-dev libyaml-cpp-dev libsqlite3-dev zlib1g-dev libcpp-httplib-dev)
python=(python3 python3-dev python3-numpy pybind11-dev)
test=(libgtest-dev libgmock-dev libopenblas-dev python3 python3-pytest mypy sqlite3 libopenmpi-dev openmpi-bin python3-matplotlib)
# Pages are tested in a browser: about 90 MB to fetch, 360 MB on disk. Where it cannot be had, those tests are skipped.
browser=(chromium)
bench=(libbenchmark-dev libopenblas-dev python3 python3-simpy3)
lint=(clang-format clang-tidy-16 git python3)

packages=("${build[@]}")
case "${1:-build}" in
  build) ;;
  python) packages+=("${python[@]}") ;;
  test) packages+=("${python[@]}" "${test[@]}") ;;
  bench) packages+=("${python[@]}" "${bench[@]}") ;;
  lint) packages+=("${python[@]}" "${test[@]}" "${bench[@]}" "${lint[@]}") ;;
  *) echo "usage: $0 build|python|test|bench|lint" >&2; exit 2 ;;
esac

# missing_of PACKAGE …: those that are not installed, in `missing`.
missing_of() {
  missing=()
  local p
  for p in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$p" 2>/dev/null || true)" = "ii " ] || missing+=("$p")
  done
}

sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)
export DEBIAN_FRONTEND=noninteractive
install() {
  echo "setup: installing ${missing[*]}"
  "${sudo[@]}" apt-get update -q && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}

missing_of "${packages[@]}"
[ ${#missing[@]} -eq 0 ] || install

if [ "${1:-build}" = test ] && ! command -v chromium chromium-browser google-chrome > /dev/null; then
  missing_of "${browser[@]}"
  install || echo "setup: no Chromium to be had; tests of pages in a browser will be skipped" >&2
fi
