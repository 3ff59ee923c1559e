#!/usr/bin/env bash
# Installs the Debian packages this project needs and that are missing. Asks nothing; a second run is a glance.
# Usage: scripts/setup.sh build|python|test|bench|lint
set -euo pipefail

build=(g++ cmake ninja-build make ccache libfmt-dev libcli11-dev nlohmann-json3-dev libyaml-cpp-dev libsqlite3-dev zlib1g-dev)
python=(python3 python3-dev python3-numpy pybind11-dev)
# Chromium is the largest of these: about 90 MB to fetch, 360 MB on disk. Pages are tested in it; without it that test is skipped.
test=(libgtest-dev libgmock-dev libopenblas-dev python3 python3-pytest mypy sqlite3 chromium)
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

missing=()
for p in "${packages[@]}"; do
  [ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$p" 2>/dev/null || true)" = "ii " ] || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0

sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -q
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
