#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy, with the compile commands and generated headers of a preset that was built.
#   tests/checks/tidy.sh           the core logic: what decides, stores, routes and translates
#   tests/checks/tidy.sh --all     every source
#   tests/checks/tidy.sh FILE…     these
# BASALT_TIDY_BUILD names another build folder than build/dev.
set -euo pipefail
cd "$(dirname "$0")/../.."
core=('services/*/core/*.cc' 'services/*/control/*.cc' 'services/*/store/*.cc' 'common/runtime/*.cc'
  'common/reconcile/*.cc' 'common/kv/*.cc' 'gateway/route/*.cc' 'gateway/session/*.cc' 'gateway/translate/*.cc' 'common/kube/decode/*.cc')
case ${1:-} in
  '') mapfile -t files < <(git ls-files "${core[@]}" | grep -vE '(_test|_bench)\.cc$') ;;
  --all) mapfile -t files < <(git ls-files '*.cc') ;;
  *) files=("$@") ;;
esac
# What the compiler of the preset knows and clang does not is no finding.
tests/checks/cached_tidy.sh --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wthread-safety -- "${files[@]}"
