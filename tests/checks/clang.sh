#!/usr/bin/env bash
# Reads our own sources with a second compiler, clang's front end, -Wthread-safety included. Warnings are errors.
#   tests/checks/clang.sh           the product's sources with locks or atomics, and those that include headers with them
#   tests/checks/clang.sh --all     every source
#   tests/checks/clang.sh FILE…     these sources
# The compile commands and generated headers come from build/dev; BASALT_TIDY_BUILD names another folder. The preset
# thread-safety builds with clang instead.
set -euo pipefail
cd "$(dirname "$0")/../.."
case ${1:-} in
  '')
    words='\b(Mutex|MutexLock|CondVar|BASALT_GUARDED_BY|std::atomic)\b'
    headers=$(git grep -lE "$words" -- '*.h' | grep -v '^common/base/mutex\.h$' | sed 's/\./\\./g' | paste -sd'|')
    mapfile -t files < <(git grep -lE "$words|#include \"($headers)\"" -- '*.cc' ':!tests/' | grep -vE '_(test|bench)\.cc$')
    ;;
  --all) mapfile -t files < <(git ls-files '*.cc') ;;
  *) files=("$@") ;;
esac
tests/checks/cached_tidy.sh --checks='-*,clang-diagnostic-*,bugprone-use-after-move' --warnings-as-errors='*' \
  --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wthread-safety -- "${files[@]}"
