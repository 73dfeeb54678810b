#!/usr/bin/env bash
# Runs clang-tidy with the checks of .clang-tidy, and with the compile commands and generated headers of build/dev.
#   tests/checks/tidy.sh           the core logic: sources that decide, store, route and translate
#   tests/checks/tidy.sh --all     every source
#   tests/checks/tidy.sh FILE…     these sources
# BASALT_TIDY_BUILD names another build folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
core=('services/*/core/*.cc' 'services/*/control/*.cc' 'services/*/store/*.cc' 'common/runtime/*.cc'
  'common/reconcile/*.cc' 'common/kv/*.cc' 'gateway/route/*.cc' 'gateway/session/*.cc' 'gateway/translate/*.cc' 'common/kube/decode/*.cc')
case ${1:-} in
  '') mapfile -t files < <(git ls-files "${core[@]}" | grep -vE '(_test|_bench)\.cc$') ;;
  --all) mapfile -t files < <(git ls-files '*.cc') ;;
  *) files=("$@") ;;
esac
# A warning option that only the preset's compiler knows is not a finding.
tests/checks/cached_tidy.sh --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wthread-safety -- "${files[@]}"
