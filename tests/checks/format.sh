#!/usr/bin/env bash
# Checks that every C++ file is formatted as clang-format would format it. --fix rewrites the files instead.
set -euo pipefail
cd "$(dirname "$0")/../.."
mode=(--dry-run -Werror)
[[ ${1:-} == --fix ]] && mode=(-i)
git ls-files -z '*.cc' '*.h' | xargs -0 -n 40 -P "$(nproc)" clang-format "${mode[@]}"
