#!/usr/bin/env bash
# clang-tidy over our own sources, with the compile commands of the dev preset. Arguments: files (default: all).
set -euo pipefail
cd "$(dirname "$0")/../.."
[[ -f build/dev/compile_commands.json ]] || { echo 'configure the dev preset first: cmake --preset dev' >&2; exit 1; }
if (($# > 0)); then files=("$@"); else mapfile -t files < <(git ls-files '*.cc'); fi
printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P "$(nproc)" clang-tidy -p build/dev --quiet 2>/dev/null
