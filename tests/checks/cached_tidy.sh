#!/usr/bin/env bash
# Runs clang-tidy over sources, as many at once as there are cores. Skips a source that passed before with the same
# text, headers, compile command, checks and packages. ~/.cache/basalt-tidy has a file for each source that passed.
#   tests/checks/cached_tidy.sh CLANG_TIDY_ARGUMENT… -- FILE…
# The compile commands come from build/dev. The headers of each source come from the last build in the first of
# build/dev and build/asan-ubsan that has built the source. BASALT_TIDY_BUILD and BASALT_TIDY_DEPS name other folders.
set -euo pipefail
cd -P "$(dirname "$0")/../.."
build=${BASALT_TIDY_BUILD:-build/dev}
read -ra built <<<"${BASALT_TIDY_DEPS:-$build build/asan-ubsan}"
[[ -f $build/compile_commands.json ]] || { echo "build first: cmake --preset dev && ninja -C $build" >&2; exit 1; }
arguments=()
while [[ $1 != -- ]]; do
  arguments+=("$1")
  shift
done
shift

cache=${XDG_CACHE_HOME:-$HOME/.cache}/basalt-tidy
mkdir -p "$cache"
find "$cache" -type f -mtime +30 -delete
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# clang cannot read GCC's precompiled headers. Without them each source reads only the headers that it includes.
sed -E 's/ -Winvalid-pch -include [^ ]*cmake_pch\.hxx| --param=ggc-[^ ]*//g' "$build/compile_commands.json" \
  >"$work/compile_commands.json"
printf '%s\n' "$@" | sort >"$work/files"
# headers_in FOLDER: prints "folder <tab> source <tab> header" for all our headers, generated ones included. System
# headers come with the packages. Sources that were compiled as one all get the headers of each of them.
headers_in() {
  ninja -C "$1" -t deps | awk -v build="$1" -v root="$PWD" '
    function flush_object(   i, j, joined) {
      joined = read[1] ~ /\/Unity\/unity_[0-9]+_cxx\.cxx$/
      for (i = 1; i <= count; ++i) {
        if (joined ? read[i] !~ /\.cc$/ : i > 1) continue
        for (j = 1; j <= count; ++j) if (!joined || j > 1) print build "\t" read[i] "\t" read[j]
      }
      count = 0
    }
    /^[^ ]/ { flush_object() }
    /^    / { path = $1
      if (path ~ /cmake_pch\./) next
      if (index(path, root "/") == 1) path = substr(path, length(root) + 2)
      else if (path ~ /^\//) next
      else if (sub(/^\.\.\/\.\.\//, "", path) == 0) path = build "/" path
      read[++count] = path }
    END { flush_object() }'
}
for folder in "${built[@]}"; do
  [[ ! -f $folder/build.ninja ]] || headers_in "$folder"
done | awk -F'\t' '!($2 in first) { first[$2] = $1 } first[$2] == $1 { print $2 "\t" $3 }' | sort -u >"$work/deps"
# A source whose header is gone is checked again.
cut -f2 "$work/deps" | sort -u | { xargs -r sha256sum 2>/dev/null || true; } | awk '{ print $2 "\t" $1 }' >"$work/hashes"
sed "s|$PWD/||g" "$work/compile_commands.json" |
  awk -F'"' '/"command":/ { command = $0 } /"file":/ { print $4 "\t" command }' >"$work/commands"
general=$({ cat .clang-tidy; clang-tidy --version; dpkg-query -W; printf '%s\n' "${arguments[@]}"; } | sha256sum | cut -c1-64)
awk -F'\t' -v general="$general" -v folders="$(IFS='|'; printf '%s' "${built[*]}")" '
  FILENAME ~ /hashes$/ { hash[$1] = $2; next }
  FILENAME ~ /commands$/ { command[$1] = command[$1] $2; next }
  FILENAME ~ /deps$/ { if (!($2 in hash)) gone[$1] = 1; name = $2; sub("^(" folders ")/", "", name); text[$1] = text[$1] name " " hash[$2] "\n"; next }
  !($1 in text) || !($1 in command) || $1 in gone { print "-\t" $1; next }
  { to = "sha256sum | cut -c1-64 | sed \"s|$|\t" $1 "|\""
    print general "\n" command[$1] "\n" text[$1] | to
    close(to) }' "$work/hashes" "$work/commands" "$work/deps" "$work/files" >"$work/keys"

total=$(wc -l <"$work/keys")
((total == $#)) || { echo "of $# sources only $total have a key" >&2; exit 1; }
while IFS=$'\t' read -r key file; do
  [[ $key != - && -f $cache/$key ]] || printf '%s\0%s\0' "$key" "$file"
done <"$work/keys" >"$work/todo"
echo "$total sources, $(tr -cd '\0' <"$work/todo" | wc -c | awk '{ print $1 / 2 }') of them to look at"
export cache work
one() {
  local key=$1 file=$2
  clang-tidy -p "$work" --quiet "${@:3}" "$file" 2> >(grep -vE '^[0-9]+ warnings? (generated|treated)' >&2) || return 1
  [[ $key == - ]] || : >"$cache/$key"
}
export -f one
# xargs appends the key and the file of a source. The command moves both to the front.
xargs -r -0 -n 2 -P "${BASALT_JOBS:-$(nproc)}" \
  bash -c 'one "${@: -2}" "${@:1:$#-2}"' _ "${arguments[@]}" <"$work/todo"
