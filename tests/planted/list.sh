# Sourced: reads the planted weaknesses of tests/planted/*.txt. Each is a line "ID FILE TARGET TEST", then the text to be
# replaced, which stands in the file exactly once, with "-" before each line, and what takes its place, with "+". A line
# "and FILE" begins a further replacement of the same weakness. TEST is a filter of gtest, or, of simulation_test, a range
# of seeds A..B.
planted_ids=()
# Of parts: the id, and for further ones "id#2", …, which planted_parts lists by id.
declare -A planted_parts=() planted_file=() planted_old=() planted_new=() planted_target=() planted_test=()

read_planted() {
  local list line id="" part="" words
  for list in "$ROOT"/tests/planted/*.txt; do
    while IFS= read -r line || [[ -n $line ]]; do
      case $line in
        '' | '#'*) continue ;;
        -*) planted_old[$part]+=${planted_old[$part]:+$'\n'}${line#-} ;;
        +*) planted_new[$part]+=${planted_new[$part]:+$'\n'}${line#+} ;;
        *)
          read -ra words <<<"$line"
          if [[ ${words[0]} == and && ${#words[@]} == 2 && -n $id ]]; then
            part="$id#$(($(wc -w <<<"${planted_parts[$id]}") + 1))"
            planted_parts[$id]+=" $part"
          else
            id=${words[0]}
            part=$id
            [[ ${#words[@]} == 4 ]] || die "$list: '$line' is not ID FILE TARGET TEST"
            [[ -z ${planted_file[$id]:-} ]] || die "$list: $id is there twice"
            planted_ids+=("$id")
            planted_parts[$id]=$id
            planted_target[$id]=${words[2]} planted_test[$id]=${words[3]}
          fi
          planted_file[$part]=${words[1]} planted_old[$part]="" planted_new[$part]=""
          ;;
      esac
    done <"$list"
  done
}

is_seeds() { [[ $1 =~ ^[0-9]+\.\.[0-9]+$ ]]; }

# occurrences TEXT PART
occurrences() {
  local rest=${1//"$2"/}
  echo $(((${#1} - ${#rest}) / ${#2}))
}
