# Sourced: finds out whether a test that a page names is in the sources.
declare -A texts=()
load() {
  [[ -n ${texts[$1]:-} ]] || texts[$1]=$(tr -s '[:space:]' ' ' <"$1")
}

# test_exists FILE NAME: whether the file has the test. If the parameter contains a *, only the test without it is
# searched.
test_exists() {
  local suite=${2%%.*} case=${2#*.} prefix="" param=""
  [[ $suite == */* ]] && prefix=${suite%/*} suite=${suite##*/}
  [[ $case == */* ]] && param=${case#*/} case=${case%%/*}
  [[ -f $1 ]] || return 1
  load "$1"
  if [[ -z $prefix ]]; then
    [[ ${texts[$1]} == *"TEST($suite, $case) {"* || ${texts[$1]} == *"TEST_F($suite, $case) {"* ]]
  else
    [[ ${texts[$1]} == *"TEST_P($suite, $case) {"* && -n $param ]] &&
      [[ $param == *\** || ${texts[$1]} == *"\"$param\""* ]] &&
      grep -qE "INSTANTIATE_TEST_SUITE_P\( ?$prefix, $suite," <<<"${texts[$1]}"
  fi
}
