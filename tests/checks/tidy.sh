#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy, with the compile commands and generated headers of a preset that was built.
#   tests/checks/tidy.sh           the core logic: what decides, stores, routes and translates
#   tests/checks/tidy.sh --all     every source
#   tests/checks/tidy.sh FILE…     these
# BASALT_TIDY_BUILD names another build folder than build/dev.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BASALT_TIDY_BUILD:-build/dev}
[[ -f $build/compile_commands.json ]] || { echo "build first: cmake --preset dev && ninja -C $build" >&2; exit 1; }
core=('services/*/core/*.cc' 'services/*/control/*.cc' 'services/*/store/*.cc' 'common/runtime/*.cc'
  'common/reconcile/*.cc' 'common/kv/*.cc' 'gateway/route/*.cc' 'gateway/session/*.cc' 'gateway/translate/*.cc' 'common/kube/decode/*.cc')
case ${1:-} in
  '') mapfile -t files < <(git ls-files "${core[@]}" | grep -vE '(_test|_bench)\.cc$') ;;
  --all) mapfile -t files < <(git ls-files '*.cc') ;;
  *) files=("$@") ;;
esac
# What the compiler of the preset knows and clang does not is no finding.
extra=(--extra-arg=-Wno-unknown-warning-option --extra-arg=-Wthread-safety)
# xargs fails where one of the runs did; the counts of suppressed warnings on stderr tell nothing.
printf '%s\0' "${files[@]}" | xargs -0 -n 2 -P "${BASALT_JOBS:-$(nproc)}" \
  clang-tidy -p "$build" --quiet "${extra[@]}" 2> >(grep -vE '^[0-9]+ warnings? (generated|treated)' >&2)
