#!/usr/bin/env bash
# Checks docs/mission.md: the rows are numbered in one series, each has a sentence, and the tests that they name are in
# the sources. scripts/mission runs these tests.
source "$(dirname "$0")/../../scripts/lib/common.sh"
source "$ROOT/scripts/lib/mission.sh"
source "$ROOT/tests/checks/test_names.sh"
cd "$ROOT"
export LC_ALL=C
page=docs/mission.md
bad=0
complain() { printf '%s\n' "$*"; bad=1; }

# ---- the tests of ctest, and in `sources` the files of each ----
declare -A sources=()
while read -r name files; do sources[$name]=$files; done < <(
  git ls-files --cached --others --exclude-standard -- '*CMakeLists.txt' | xargs awk '
    function flush() { if (text != "") scan(text); text = "" }
    # Reads the lines between foreach and endforeach once for each item.
    function scan(all,   head, items, count, i, body, variable, rest) {
      while (match(all, /foreach\([A-Za-z_]+ IN ITEMS [^)]*\)/)) {
        head = substr(all, RSTART + 8, RLENGTH - 9)
        tests(substr(all, 1, RSTART - 1))
        rest = substr(all, RSTART + RLENGTH)
        all = substr(rest, index(rest, "endforeach(") + 11)
        rest = substr(rest, 1, index(rest, "endforeach(") - 1)
        count = split(head, items, " ")
        for (i = 4; i <= count; ++i) { body = rest; gsub("[$][{]" items[1] "[}]", items[i], body); tests(body) }
      }
      tests(all)
    }
    # Resolves file(GLOB NAME … PATTERN) to the files of that pattern.
    function globs(all,   words, count, path, files, command) {
      while (match(all, /file\(GLOB [^)]*\)/)) {
        count = split(substr(all, RSTART + 10, RLENGTH - 11), words, / +/)
        files = ""
        command = "printf \"%s\\n\" " folder words[count]
        while ((command | getline path) > 0) files = files " " path
        close(command)
        found[folder "${" words[1] "}"] = files
        all = substr(all, RSTART + RLENGTH)
      }
    }
    function tests(all,   words, count, i, files, on) {
      globs(all)
      while (match(all, /(basalt_test|add_test)\([^)]*\)/)) {
        count = split(substr(all, index(all, "(") ? RSTART : 1, RLENGTH), words, /[ ()]+/)
        files = ""
        if (words[1] == "add_test") {
          print words[3], of[words[5]]
        } else {
          for (i = 3; i <= count && words[i] !~ /^(DEPS|LABELS|TIMEOUT|ARGS)$/; ++i)
            if (words[i] ~ /\.cc$/) files = files " " folder words[i]
            else if (words[i] ~ /^[$][{].*[}]$/) files = files found[folder words[i]]
          print words[2], of[words[2]] = files
        }
        all = substr(all, RSTART + RLENGTH)
      }
    }
    FNR == 1 { flush(); folder = FILENAME; sub(/[^\/]*$/, "", folder) }
    { sub(/#.*/, ""); gsub(/[ \t]+/, " "); text = text $0 " " }
    END { flush() }')

# stands TEST PATTERN: whether one of the files of ctest's TEST has the test PATTERN.
stands() {
  local file
  for file in ${sources[$1]}; do
    if test_exists "$file" "$2"; then return 0; fi
  done
  return 1
}

# ---- the page ----
read_mission
((${#mission_rows[@]} > 0)) || complain "$page has no rows"
number=0
for row in "${mission_rows[@]}"; do
  number=$((number + 1))
  if [[ $row != "M$number" ]]; then
    complain "$page: $row stands where M$number should"
    [[ $row =~ ^M([0-9]+)$ ]] && number=${BASH_REMATCH[1]}
  fi
  [[ ${mission_capability[$row]} == ?*. ]] || complain "$page: $row: the capability is no sentence"
  case ${mission_shown[$row]} in
    "open: "?* | "outside: "?*) continue ;;
  esac
  list=$(mission_tests "$row") && [[ -n $list ]] ||
    { complain "$page: $row: '${mission_shown[$row]}' is neither tests nor open: nor outside:"; continue; }
  while read -r test filter; do
    if [[ -z ${sources[$test]+x} ]]; then
      complain "$page: $row: no CMakeLists.txt has a test $test"
      continue
    fi
    IFS=: read -ra patterns <<<"$filter"
    for pattern in "${patterns[@]}"; do
      stands "$test" "$pattern" || complain "$page: $row: $test has no test $pattern"
    done
    [[ -n $filter || -z ${sources[$test]} ]] || complain "$page: $row: $test is gtest's, and needs a filter"
  done <<<"$list"
done
exit $bad
