# Sourced by the scripts: paths, installation of packages, configuration and builds.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
JOBS=${BASALT_JOBS:-$(nproc)}
# The preset that a script builds by default.
PRESET=${BASALT_PRESET:-dev}
# ccache finds precompiled headers only with these settings. They are safe, since no source of ours uses the time of its
# compilation.
export CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
# With the first setting the compiler lists the files that it reads, so that nothing is preprocessed only for the cache.
# With the second a precompiled header, of 200 MB, is read for its hash only once.
export CCACHE_DEPEND=1 CCACHE_INODECACHE=1

say() { printf '\n== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# install_packages [tests|checks|images|node]: installs the missing packages of scripts/packages.txt, and kubectl if it
# is missing. "tests" and "checks" also install the programs that only tests start, and "checks" the second compiler.
# "images" or "node" installs only the packages of scripts/images or of a real node. No server of a package is started
# or enabled on the machine: the tests start them.
install_packages() {
  local missing=() package group=all wanted
  case ${1:-} in
    tests) wanted="all tests" ;;
    checks) wanted="all tests checks" ;;
    images | node) wanted=$1 ;;
    *) wanted=all ;;
  esac
  while read -r package; do
    [[ $package != "# Only for the "* ]] || { group=${package#"# Only for the "}; group=${group%%[!a-z]*}; }
    [[ -z $package || $package == \#* || " $wanted " != *" $group "* ]] && continue
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done <"$ROOT/scripts/packages.txt"
  command -v kubectl >/dev/null || missing+=(kubernetes-client)
  ((${#missing[@]} == 0)) && return 0
  say "installing ${#missing[@]} packages: ${missing[*]}"
  local sudo=()
  ((EUID == 0)) || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  (
    # With this file apt starts no server of a package. A file that the machine already has is left as it is.
    policy=/usr/sbin/policy-rc.d
    if [[ ! -e $policy ]]; then
      trap '"${sudo[@]}" rm -f "$policy"' EXIT
      "${sudo[@]}" install -m 755 /dev/stdin "$policy" <<<$'#!/bin/sh\nexit 101'
    fi
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  )
  if [[ " ${missing[*]} " == *" openssh-server "* && -d /run/systemd/system ]]; then
    "${sudo[@]}" systemctl disable --quiet --now ssh.service ssh.socket || true
  fi
}

configure() {
  local preset=$1
  local log=$ROOT/build/$preset/configure.log
  mkdir -p "${log%/*}"
  (cd "$ROOT" && cmake --preset "$preset" >"$log" 2>&1) ||
    { cat "$log" >&2; die "configuring the preset $preset failed"; }
}

# build PRESET [TARGET…]: configures once, then builds.
build() {
  local preset=$1
  shift
  configure "$preset"
  ninja -C "$ROOT/build/$preset" -j "$JOBS" --quiet "$@"
}

# build_shown PRESET [TARGET…]: as build, and shows the progress, on a terminal in one line, in a pipe as a line for
# each tenth. Fails if ninja fails.
build_shown() {
  local preset=$1 line percent last=-1 status=0
  shift
  configure "$preset"
  NINJA_STATUS='@%p@' ninja -C "$ROOT/build/$preset" -j "$JOBS" "$@" 2>&1 | while IFS= read -r line; do
    if [[ $line =~ ^@\ *([0-9]+)%@ ]]; then
      percent=${BASH_REMATCH[1]}
      if [[ -t 1 ]]; then
        printf '\r   building: %3d %%' "$percent"
      elif ((percent / 10 > last)); then
        last=$((percent / 10))
        printf '   building: %3d %%\n' "$percent"
      fi
    elif [[ $line != ninja:* || $line == *error* || $line == *failed* ]]; then
      printf '%s\n' "$line"
    fi
  done || status=$?
  [[ ! -t 1 ]] || printf '\n'
  return "$status"
}
