# Sourced: programs that are built with Go once for all clones of this repository.

# go_folder PREFIX FILE…: prints a folder of the user's cache whose name is the prefix and a checksum of the files and of
# Go's version. It lies outside of the clone, so that a new clone builds nothing again.
go_folder() {
  local key prefix=$1
  shift
  key=$({ go env GOVERSION; cat "$@"; } | sha256sum)
  printf '%s/%s%s\n' "${XDG_CACHE_HOME:-$HOME/.cache}" "$prefix" "${key:0:12}"
}

# build_once FILE COMMAND…: runs the command, which makes the file as its last act, unless the file is there. One call builds
# at a time, and a second one finds the file.
build_once() (
  mkdir -p "${1%/*}"
  exec 9>"${1%/*}/lock"
  flock 9
  [[ -e $1 ]] || "${@:2}" >&2
)
