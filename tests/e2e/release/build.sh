#!/usr/bin/env bash
# Builds gateway, jobsvc, pgsvc and queuesvc of the release before this tree, the last one in docs/releases.txt, below
# build/release-before/COMMIT, and prints the folder of the programs. Existing programs are left as they are.
# `build.sh path` builds nothing.
set -euo pipefail
ROOT=$(cd "$(dirname "$0")/../../.." && pwd)
read -r version commit < <(grep -v '^#' "$ROOT/docs/releases.txt" | tail -n 1)
folder=$ROOT/build/release-before/${commit:0:12}
[[ ${1:-} != path ]] || { printf '%s\n' "$folder/build/unity/bin"; exit 0; }
if [[ ! -e $folder/built ]]; then
  git -C "$ROOT" cat-file -e "$commit^{commit}" || {
    echo "error: commit $commit of release $version is not in this clone: fetch the whole history" >&2
    exit 1
  }
  mkdir -p "$folder"
  git -C "$ROOT" archive "$commit" | tar -x -C "$folder"
  (cd "$folder" && cmake --preset unity >configure.log) || { cat "$folder/configure.log" >&2; exit 1; }
  ninja -C "$folder/build/unity" -j "${BASALT_JOBS:-$(nproc)}" --quiet gateway jobsvc pgsvc queuesvc
  touch "$folder/built"
fi
printf '%s\n' "$folder/build/unity/bin"
