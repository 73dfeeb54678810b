#!/usr/bin/env bash
# Every C++ file is as clang-format leaves it. --fix rewrites instead of complaining.
set -euo pipefail
cd "$(dirname "$0")/../.."
mode=(--dry-run -Werror)
[[ ${1:-} == --fix ]] && mode=(-i)
git ls-files -z '*.cc' '*.h' | xargs -0 -n 40 -P "$(nproc)" clang-format "${mode[@]}"
