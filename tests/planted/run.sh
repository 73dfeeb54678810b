#!/usr/bin/env bash
# Plants weaknesses, one after the other, in a copy of the tree and demands that the test of each finds it: where its name
# is a pattern, all tests that it names.
#   tests/planted/run.sh [ID…]   all of tests/planted/*.txt, or those named
# The copy is build/planted; what was built there last time is used again. About half a minute each.
source "$(dirname "$0")/../../scripts/lib/common.sh"
source "$ROOT/tests/planted/list.sh"

case ${1:-} in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
read_planted
ids=("${planted_ids[@]}")
(($# == 0)) || ids=("$@")
for id in "${ids[@]}"; do [[ -n ${planted_file[$id]:-} ]] || die "nothing is planted as $id"; done

tree=$ROOT/build/planted
log=$tree/planted.log
mkdir -p "$tree"
export CCACHE_BASEDIR=$tree
# Only what differs, with a new time: a copy that still holds a weakness is built again.
while IFS= read -r -d '' file; do
  [[ -f $ROOT/$file ]] || continue
  cmp -s "$ROOT/$file" "$tree/$file" && continue
  mkdir -p "$tree/$(dirname "$file")"
  cp "$ROOT/$file" "$tree/$file"
done < <(cd "$ROOT" && git ls-files -zco --exclude-standard)

build_copy() {
  [[ -f $tree/build/dev/build.ninja ]] || (cd "$tree" && cmake --preset dev >"$log" 2>&1) || return 1
  ninja -C "$tree/build/dev" -j "$JOBS" --quiet "$@" >"$log" 2>&1
}

# run TARGET TEST: its exit code.
run() {
  local binary
  binary=$(find "$tree/build/dev" -type f -name "$1" -perm -u+x -print -quit)
  { timeout 120 "$binary" --gtest_filter="$2"; } >"$log" 2>&1
}

targets=()
for id in "${ids[@]}"; do targets+=("${planted_target[$id]}"); done
mapfile -t targets < <(printf '%s\n' "${targets[@]}" | sort -u)
build_copy "${targets[@]}" || { cat "$log" >&2; die "the copy does not build"; }

found=0
missed=0
note() {
  printf '%-8s %s%s\n' "$1" "$2" "${3:+: $3}"
  [[ $1 == found ]] && found=$((found + 1)) || missed=$((missed + 1))
}
sound=()
for id in "${ids[@]}"; do
  if run "${planted_target[$id]}" "${planted_test[$id]}" && grep -qE '^\[  PASSED  \] [1-9][0-9]* test' "$log"; then
    sound+=("$id")
  else
    note missed "$id" "${planted_test[$id]} does not pass, or is not there, with nothing planted"
  fi
done
for id in "${sound[@]}"; do
  target=${planted_target[$id]} test=${planted_test[$id]} file=$tree/${planted_file[$id]}
  text=$(<"$file")
  if [[ $(occurrences "$text" "${planted_old[$id]}") != 1 ]]; then
    note missed "$id" "its text does not stand once in ${planted_file[$id]}"
    continue
  fi
  cp "$file" "$tree/before"
  printf '%s\n' "${text/"${planted_old[$id]}"/"${planted_new[$id]}"}" >"$file"
  if ! build_copy "$target"; then
    note missed "$id" "it does not build: $(grep -m 1 -F ' error: ' "$log")"
  elif run "$target" "$test"; then
    note missed "$id" "$test passes all the same"
  elif grep -q '^\[       OK \]' "$log"; then
    note missed "$id" "$(sed -n 's/^\[       OK \] \([^ ]*\).*/\1/p' "$log" | head -n 1) passes all the same"
  else
    note found "$id" "$(grep -m 1 -E 'Failure$|ERROR:|failed:|runtime error' "$log" || true)"
  fi
  cp "$tree/before" "$file"
done
printf '%d found, %d missed\n' "$found" "$missed"
((missed == 0))
