# Sourced: reads docs/mission.md. mission_rows has the numbers of the rows in the order of the page.
shopt -s extglob
mission_page=$ROOT/docs/mission.md
mission_rows=()
declare -A mission_capability=() mission_shown=()

read_mission() {
  local row capability shown
  while IFS='|' read -r _ row capability shown _; do
    row=${row# } row=${row% }
    [[ $row == row || $row == ---* ]] && continue
    capability=${capability# } shown=${shown# }
    mission_rows+=("$row")
    mission_capability[$row]=${capability% }
    mission_shown[$row]=${shown% }
  done < <(grep '^|' "$mission_page")
}

# mission_tests ROW: prints "TEST FILTER" for each test of the row. The filter of a test that is not gtest's is empty.
# Fails if the cell has another form.
mission_tests() {
  local rest=${mission_shown[$1]#@(real|pods): } form='^`([a-z0-9_]+)`( `([^` ,]+)`)?(, |$)'
  while [[ -n $rest ]]; do
    [[ $rest =~ $form ]] || return 1
    printf '%s %s\n' "${BASH_REMATCH[1]}" "${BASH_REMATCH[3]}"
    rest=${rest#"${BASH_REMATCH[0]}"}
  done
}
