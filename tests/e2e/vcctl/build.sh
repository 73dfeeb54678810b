#!/usr/bin/env bash
# Builds Volcano's own vcctl from its public module, in the version of go.mod, and prints the program's path below
# ${XDG_CACHE_HOME:-~/.cache}/basalt-vcctl. An existing program is left as it is. Without Go, or if the module cannot be
# downloaded, the script prints an error, and the tests that need vcctl are skipped. `build.sh path` builds nothing.
set -uo pipefail
cd "$(dirname "$0")"
command -v go >/dev/null || { echo "vcctl is not built: there is no Go"; exit 0; }
source ../../../scripts/lib/go_programs.sh
folder=$(go_folder basalt-vcctl/ go.mod go.sum)
[[ ${1:-} != path ]] || { printf '%s\n' "$folder/vcctl"; exit 0; }
go_build_vcctl() {
  GOFLAGS=-mod=readonly go build -trimpath -o "$folder/part" volcano.sh/volcano/cmd/cli && mv "$folder/part" "$folder/vcctl"
}
build_once "$folder/vcctl" go_build_vcctl || { echo "vcctl cannot be built"; exit 0; }
printf '%s\n' "$folder/vcctl"
