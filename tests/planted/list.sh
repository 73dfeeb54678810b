# Sourced: has the planted weaknesses of tests/planted/*.txt, which scripts/lib/rows.py reads. Each is a line "ID FILE TARGET
# TEST", then the text to be replaced, which stands in the file exactly once, with "-" before each line, and what takes its
# place, with "+". A line "and FILE" begins a further replacement of the same weakness. TEST is a filter of gtest, or, of
# simulation_test, a range of seeds A..B.
planted_ids=()
# Of parts: the id, and for further ones "id#2", …, which planted_parts lists by id.
declare -A planted_parts=() planted_file=() planted_old=() planted_new=() planted_target=() planted_test=()

read_planted() {
  local id target test file old new part
  while IFS= read -rd '' id && IFS= read -rd '' target && IFS= read -rd '' test && IFS= read -rd '' file &&
    IFS= read -rd '' old && IFS= read -rd '' new; do
    part=$id
    [[ -n ${planted_parts[$id]:-} ]] && part="$id#$(($(wc -w <<<"${planted_parts[$id]}") + 1))" || planted_ids+=("$id")
    planted_parts[$id]+="${planted_parts[$id]:+ }$part"
    planted_target[$id]=$target planted_test[$id]=$test
    planted_file[$part]=$file planted_old[$part]=$old planted_new[$part]=$new
  done < <("$ROOT/scripts/rows" --planted)
  ((${#planted_ids[@]} > 0)) || die "nothing is planted"
}

is_seeds() { [[ $1 =~ ^[0-9]+\.\.[0-9]+$ ]]; }

# occurrences TEXT PART
occurrences() {
  local rest=${1//"$2"/}
  echo $(((${#1} - ${#rest}) / ${#2}))
}
