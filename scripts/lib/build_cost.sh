# Sourced by scripts/test: the CPU time of a full build, told as a multiple of the CPU time of one source that never
# changes (tests/build_cost/fixed.cc), since machines differ by a factor of three.

# children_cpu: sets `cpu` to the CPU time in milliseconds of all programs that this shell has started and awaited.
children_cpu() {
  local file line minutes seconds word
  file=$TMPDIR/times
  times >"$file"
  line=$(tail -n 1 "$file")
  cpu=0
  for word in $line; do
    minutes=${word%m*} seconds=${word#*m}
    seconds=${seconds%s}
    cpu=$((cpu + minutes * 60000 + 10#${seconds%.*} * 1000 + 10#${seconds#*.}))
  done
}

# unit_cpu: sets `unit` to the CPU time in milliseconds of one compilation of the fixed source. As many run at a time as
# in a build, since they share the caches of the processor.
unit_cpu() {
  local i before cpu
  children_cpu
  before=$cpu
  local pids=()
  for ((i = 0; i < JOBS; ++i)); do
    c++ -std=c++20 -O1 -g1 -c "$ROOT/tests/build_cost/fixed.cc" -o "$TMPDIR/fixed$i.o" &
    pids+=($!)
  done
  wait "${pids[@]}"
  children_cpu
  unit=$(((cpu - before) / JOBS))
}

cache_hits() { ccache --print-stats 2>/dev/null | awk '$1 ~ /^(direct|preprocessed)_cache_hit$/ { n += $2 } END { print n + 0 }'; }

# build_and_compare PRESET TARGET…: builds, and fails if nothing of it was built before and the build costs over 5 % more
# than tests/build_cost/multiple says. A person who makes the build dearer on purpose writes the new number there.
build_and_compare() {
  local preset=$1 cpu unit first before hits multiple wanted objects
  objects=$(find "$ROOT/build/$preset" -name '*.o' -print -quit 2>/dev/null)
  hits=$(cache_hits)
  unit_cpu
  first=$unit
  children_cpu
  before=$cpu
  build_shown "$@" || return 1
  children_cpu
  cpu=$((cpu - before))
  unit_cpu
  unit=$(((first + unit) / 2))
  multiple=$((cpu / unit))
  printf '   CPU of the build: %d s, %d times that of the fixed source (%d.%01d s)\n' $((cpu / 1000)) "$multiple" \
    $((unit / 1000)) $((unit % 1000 / 100))
  hits=$(($(cache_hits) - hits))
  if [[ ! -r $ROOT/tests/build_cost/multiple ]]; then
    printf '   not compared: tests/build_cost/multiple has no number yet\n'
    return 0
  fi
  wanted=$(<"$ROOT/tests/build_cost/multiple")
  if [[ -n $objects ]] || ((hits > 0)); then
    printf '   not compared: %s\n' "$([[ -n $objects ]] && echo "objects were there before" || echo "$hits objects came from the cache")"
    return 0
  fi
  ((multiple * 100 <= wanted * 105)) && return 0
  printf '   the build costs over 5 %% more than the %d of tests/build_cost/multiple\n' "$wanted"
  return 1
}
