#!/usr/bin/env bash
# Installs the Debian packages this project needs and does not find. Asks nothing; takes a moment when nothing is missing.
# Usage: scripts/setup.sh build|python|test|bench|lint
#
# What apt prints goes to build/setup.log, which is shown when the installation fails.
set -euo pipefail

build=(g++ cmake ninja-build make libfmt-dev libcli11-dev nlohmann-json3-dev libyaml-cpp-dev libsqlite3-dev zlib1g-dev)
python=(python3 python3-dev python3-numpy pybind11-dev)
test=(libgtest-dev libgmock-dev libopenblas-dev python3 python3-pytest mypy sqlite3 libopenmpi-dev openmpi-bin python3-matplotlib)
bench=(libbenchmark-dev libopenblas-dev python3 python3-simpy3)
lint=(clang-format clang-tidy-16 git python3)
# Everything works without these: ccache makes later builds faster; without Chromium (90 MB to fetch, 360 MB on disk) the tests of
# pages in a browser are skipped.
optional=(ccache)

packages=("${build[@]}")
case "${1:-build}" in
  build) ;;
  python) packages+=("${python[@]}") ;;
  test) packages+=("${python[@]}" "${test[@]}")
        command -v chromium chromium-browser google-chrome > /dev/null || optional+=(chromium) ;;
  bench) packages+=("${python[@]}" "${bench[@]}") ;;
  lint) packages+=("${python[@]}" "${test[@]}" "${bench[@]}" "${lint[@]}") ;;
  *) echo "usage: $0 build|python|test|bench|lint" >&2; exit 2 ;;
esac

# missing_of PACKAGE …: sets `missing` to the packages that are not installed.
missing_of() {
  missing=()
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2> /dev/null || true)" = "ii " ] || missing+=("$package")
  done
}

missing_of "${packages[@]}"; required=("${missing[@]}")
missing_of "${optional[@]}"; wished=("${missing[@]}")
[ $((${#required[@]} + ${#wished[@]})) -gt 0 ] || exit 0

# as_root CMD …: runs CMD with the rights to install. Without a terminal sudo must not ask for a password.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; elif [ -t 0 ]; then sudo "$@"; else sudo -n "$@"; fi
}
may_install() {
  command -v apt-get > /dev/null && { [ "$(id -u)" -eq 0 ] || sudo -n true 2> /dev/null || { [ -t 0 ] && command -v sudo > /dev/null; }; }
}

if ! may_install; then
  if [ ${#required[@]} -gt 0 ]; then
    echo "setup: these Debian packages are missing and you may not install them: ${required[*]}" >&2
    echo "  ask an administrator to run: apt-get install --no-install-recommends ${required[*]} ${wished[*]}" >&2
    exit 1
  fi
  echo "setup: going on without ${wished[*]} (optional; an administrator installs it with: apt-get install --no-install-recommends ${wished[*]})" >&2
  exit 0
fi

mkdir -p "$(dirname "$0")/../build"
log=$(cd "$(dirname "$0")/../build" && pwd)/setup.log
: > "$log"

# apt ARGUMENT …: apt-get without questions, its output in the log. Another apt or dpkg may hold one of the locks: wait for it for up
# to ten minutes. apt waits for dpkg's lock by itself, and gives up at once where its lists or its archive are locked.
apt() {
  local attempt begin
  for attempt in $(seq 200); do
    begin=$(($(wc -c < "$log") + 1))
    if as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -o DPkg::Lock::Timeout=600 "$@" >> "$log" 2>&1 < /dev/null; then return 0; fi
    tail -c "+$begin" "$log" | grep -qE 'Could not get lock|Unable to (acquire|lock)' || return 1
    [ "$attempt" -gt 1 ] || echo "setup: another package manager is at work; waiting for it"
    sleep 3
  done
  return 1
}
install() { apt install -y --no-install-recommends "$@"; }

echo "setup: installing ${required[*]} ${wished[*]} (what apt prints is in ${log#"$PWD"/})"
if ! apt update; then
  echo "setup: the lists of packages could not be brought up to date; trying with those that are there" >&2
fi
if [ ${#required[@]} -gt 0 ] && ! install "${required[@]}"; then
  cat "$log" >&2
  echo "setup: apt could not install ${required[*]}; its output is above and in $log" >&2
  exit 1
fi
for package in "${wished[@]}"; do
  install "$package" || echo "setup: $package could not be installed; going on without it (the reason is in $log)" >&2
done
