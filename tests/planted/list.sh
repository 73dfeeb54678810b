# Sourced: reads the planted weaknesses of tests/planted/*.txt. Each is a line "ID FILE TARGET TEST", then the text to be
# replaced, which stands in the file exactly once, with "-" before each line, and what takes its place, with "+".
planted_ids=()
declare -A planted_file=() planted_target=() planted_test=() planted_old=() planted_new=()

read_planted() {
  local list line id=""
  for list in "$ROOT"/tests/planted/*.txt; do
    while IFS= read -r line || [[ -n $line ]]; do
      case $line in
        '' | '#'*) ;;
        -*) planted_old[$id]+=${planted_old[$id]:+$'\n'}${line#-} ;;
        +*) planted_new[$id]+=${planted_new[$id]:+$'\n'}${line#+} ;;
        *)
          local words
          read -ra words <<<"$line"
          id=${words[0]}
          [[ ${#words[@]} == 4 ]] || die "$list: '$line' is not ID FILE TARGET TEST"
          [[ -z ${planted_file[$id]:-} ]] || die "$list: $id is there twice"
          planted_ids+=("$id")
          planted_file[$id]=${words[1]} planted_target[$id]=${words[2]} planted_test[$id]=${words[3]}
          planted_old[$id]="" planted_new[$id]=""
          ;;
      esac
    done <"$list"
  done
}

# occurrences TEXT PART
occurrences() {
  local rest=${1//"$2"/}
  echo $(((${#1} - ${#rest}) / ${#2}))
}
