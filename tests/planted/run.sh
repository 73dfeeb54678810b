#!/usr/bin/env bash
# Plants weaknesses, one after the other, in a copy of the tree and demands that the test of each finds it: where its name
# is a pattern, all tests that it names; where it is a range of seeds, one of them, which nothing violates without it, or
# one of the 1600 that follow: what a seed plays changes with the product. Seeds are run without shutdowns.
#   tests/planted/run.sh [ID|LIST…]   all of tests/planted/*.txt, or those named by id or by list: simulation
# The copy is build/planted; what was built there last time is used again. About half a minute each.
source "$(dirname "$0")/../../scripts/lib/common.sh"
source "$ROOT/tests/planted/list.sh"

case ${1:-} in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
read_planted
ids=("${planted_ids[@]}")
if (($# > 0)); then
  ids=()
  for name in "$@"; do
    if [[ -f $ROOT/tests/planted/$name.txt ]]; then
      mapfile -t -O "${#ids[@]}" ids < <(sed -nE '/^(and |[-+#]|$)/d; s/ .*//p' "$ROOT/tests/planted/$name.txt")
    else
      ids+=("$name")
    fi
  done
fi
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

binary_of() { find "$tree/build/dev" -type f -name "$1" -perm -u+x -print -quit; }

# run TARGET TEST: its exit code.
run() { { timeout 120 "$(binary_of "$1")" --gtest_filter="$2"; } >"$log" 2>&1; }

# violated TARGET A..B: prints the first violation of the range, or of what follows, "seed N: …"; nothing: there is none.
violated() {
  local first=${2%..*} last=$((${2#*..} + more_seeds)) end
  for (( ; first <= last; first += at_once)); do
    end=$((first + at_once - 1 < last ? first + at_once - 1 : last))
    timeout 300 "$1" --no-shutdowns --seeds "$first..$end" >"$log" 2>&1 || true
    grep -m 1 '^seed [0-9]*: ' "$log" && return
  done
  return 0
}

targets=()
for id in "${ids[@]}"; do targets+=("${planted_target[$id]}"); done
mapfile -t targets < <(printf '%s\n' "${targets[@]}" | sort -u)
build_copy "${targets[@]}" || { cat "$log" >&2; die "the copy does not build"; }

at_once=20       # Seeds, before it is looked whether one was violated.
more_seeds=1600  # Behind a range.
found=0
missed=0
note() {
  printf '%-8s %s%s\n' "$1" "$2" "${3:+: $3}"
  [[ $1 == found ]] && found=$((found + 1)) || missed=$((missed + 1))
}
sound=()
for id in "${ids[@]}"; do
  if is_seeds "${planted_test[$id]}"; then
    cp "$(binary_of "${planted_target[$id]}")" "$tree/sound_${planted_target[$id]}"
    sound+=("$id")
  elif run "${planted_target[$id]}" "${planted_test[$id]}" && grep -qE '^\[  PASSED  \] [1-9][0-9]* test' "$log"; then
    sound+=("$id")
  else
    note missed "$id" "${planted_test[$id]} does not pass, or is not there, with nothing planted"
  fi
done

# plant ID: puts every part of it in, or nothing and says why.
plant() {
  local part text
  for part in ${planted_parts[$1]}; do
    text=$(<"$tree/${planted_file[$part]}")
    if [[ $(occurrences "$text" "${planted_old[$part]}") != 1 ]]; then
      note missed "$1" "its text does not stand once in ${planted_file[$part]}"
      return 1
    fi
    printf '%s\n' "${text/"${planted_old[$part]}"/"${planted_new[$part]}"}" >"$tree/${planted_file[$part]}"
  done
}

restore() {
  local part
  for part in ${planted_parts[$1]}; do cp "$ROOT/${planted_file[$part]}" "$tree/${planted_file[$part]}"; done
}

# judge ID: what was planted is built; does its test find it?
judge() {
  local id=$1 target=${planted_target[$1]} test=${planted_test[$1]} violation seed
  if is_seeds "$test"; then
    violation=$(violated "$(binary_of "$target")" "$test")
    seed=${violation%%:*} seed=${seed#seed }
    if [[ -z $violation ]]; then
      note missed "$id" "no seed of $test finds it, and none of the $more_seeds that follow"
    elif ! timeout 300 "$tree/sound_$target" --no-shutdowns --seeds "$seed..$seed" >"$log" 2>&1; then
      note missed "$id" "seed $seed does not pass with nothing planted, either"
    else
      note found "$id" "$violation"
    fi
  elif run "$target" "$test"; then
    note missed "$id" "$test passes all the same"
  elif grep -q '^\[       OK \]' "$log"; then
    note missed "$id" "$(sed -n 's/^\[       OK \] \([^ ]*\).*/\1/p' "$log" | head -n 1) passes all the same"
  else
    note found "$id" "$(grep -m 1 -E 'Failure$|ERROR:|failed:|runtime error' "$log" || true)"
  fi
}

for id in "${sound[@]}"; do
  if ! plant "$id"; then
    :
  elif build_copy "${planted_target[$id]}"; then
    judge "$id"
  else
    note missed "$id" "it does not build: $(grep -m 1 -F ' error: ' "$log")"
  fi
  restore "$id"
done
printf '%d found, %d missed\n' "$found" "$missed"
((missed == 0))
