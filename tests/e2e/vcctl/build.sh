#!/usr/bin/env bash
# Builds Volcano's own vcctl from its public module, in the version of go.mod, and prints the program's path below
# ${XDG_CACHE_HOME:-~/.cache}/basalt-vcctl. An existing program is left as it is. Without Go, or if the module cannot be
# downloaded, the script prints an error, and the tests that need vcctl are skipped. `build.sh path` builds nothing.
set -uo pipefail
cd "$(dirname "$0")"
command -v go >/dev/null || { echo "vcctl is not built: there is no Go"; exit 0; }
key=$({ go env GOVERSION; cat go.mod go.sum; } | sha256sum)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/basalt-vcctl/${key:0:12}
[[ ${1:-} != path ]] || { printf '%s\n' "$folder/vcctl"; exit 0; }
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9 # One call builds at a time: a second call finds the program built.
if [[ ! -x $folder/vcctl ]]; then
  GOFLAGS=-mod=readonly go build -trimpath -o "$folder/part" volcano.sh/volcano/cmd/cli ||
    { echo "vcctl cannot be built"; exit 0; }
  mv "$folder/part" "$folder/vcctl"
fi
printf '%s\n' "$folder/vcctl"
