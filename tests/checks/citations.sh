#!/usr/bin/env bash
# Checks that everything that sources and pages cite exists. From the specifications: sections of docs/spec and
# docs/correctness.md, and rows by their id (W19, Q8), which belong to the specification of the folder's own service or
# to tests/rows/spec. From the repository, in pages only: paths, headings that links lead to, and, where a page has
# `file`: `Name`, `Name`, these names in that file, outside of its comments.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Writes "<page> <section>" and "<page> <row>" for everything that can be cited.
for page in job-controller podgroup-controller pod-grouper queue-controller correctness; do
  file=docs/spec/$page.md
  [[ -f $file ]] || file=docs/$page.md
  sed -nE "s/^#+ ([0-9]+(\.[0-9]+)*)\.? .*/$page \1/p; s/^\| *([A-Z][0-9]+)[a-z]? .*/$page \1/p" "$file"
done >"$work/there"
# tests/rows/spec/job-controller.tsv numbers the rows of the job specification, too.
sed -nE 's/^([0-9.]+ )?([A-Z][0-9]+)[a-z]?\t.*/job-controller \2/p' tests/rows/spec/job-controller.tsv >>"$work/there"
sort -u -o "$work/there" "$work/there"

sources=('*.cc' '*.h' '*.proto' '*.md' ':!docs/spec' ':!CHANGELOG.md')
{
  # Sections: "job spec 9.8", "podgroup spec 6.2", "pod-grouper 9.4", "correctness 3", "design rule 3".
  git grep -noiE '\b((job|podgroup|queue) spec|pod-grouper|correctness( rules?)?|design rule) \(?[0-9]+(\.[0-9]+)*' -- "${sources[@]}" |
    sed -E 's/: *(job|queue|podgroup) spec /:\1-controller /I; s/:(correctness( rules?)?|design rule) \(?/:correctness /I; s/:pod-grouper /:pod-grouper /I' |
    awk -F: '{ print tolower($3) "\t" $1 ":" $2 }'
  # Rows that comments cite.
  git grep -nE '//.*\b[WSCDPUVXQG][0-9]{1,2}\b' -- 'services/*.cc' 'services/*.h' 'common/*.h' 'proto/*.proto' ':!*_test.cc' |
    awk -F: '{
      page = $1 ~ /pgsvc|podgroup/ ? "podgroup-controller" : $1 ~ /queue/ ? "queue-controller" : "job-controller"
      where = $1 ":" $2
      sub(/^[^/]*\/\//, ""); text = $0
      while (match(text, /(^|[^A-Za-z0-9_.])[WSCDPUVXQG][0-9][0-9]?([^A-Za-z0-9_]|$)/)) {
        id = substr(text, RSTART, RLENGTH); gsub(/[^A-Z0-9]/, "", id)
        print (page == "podgroup-controller" && id ~ /^G/ ? "pod-grouper" : page) " " id "\t" where
        text = substr(text, RSTART + RLENGTH - 1)
      } }'
} | sort -u >"$work/cited"
missing=$(join -t $'\t' -v 1 "$work/cited" "$work/there")
[[ -s $work/cited ]] || { echo "nothing is cited: the patterns of this check are broken"; exit 1; }

# Prints the files of the tree, without those that were deleted and whose deletion is not committed yet.
files() { comm -23 <(git ls-files --cached --others --exclude-standard "$@" | sort -u) <(git ls-files --deleted | sort -u); }
files >"$work/files"
# Pages about other times (docs/decisions, CHANGELOG.md) or about other programs (docs/spec) may name a path that does
# not exist. The index of the decisions may not.
mapfile -t pages < <(files -- '*.md' ':!docs/spec' ':!docs/decisions/[0-9]*' ':!CHANGELOG.md')
misled=$(awk '
  function complain(what) { print what "\t" FILENAME ":" FNR }
  # Resolves a path from the folder of the page, with its steps upwards.
  function from_page(path) {
    path = folder path
    while (sub(/[^\/]+\/\.\.\//, "", path)) {}
    return path
  }
  function matches_any(glob,   path) {
    gsub(/\./, "\\.", glob)
    gsub(/\*/, "[^/]*", glob)
    for (path in there) if (path ~ "(^|/)" glob "$") return 1
    return 0
  }
  # A path may begin at the top or at the page. If its first folder is not one of the top, it may also be the end of a
  # path.
  function is_there(path,   first) {
    if (path in there || from_page(path) in there) return 1
    first = path; sub(/\/.*/, "", first)
    return index(path, "*") ? matches_any(path) : !(first in top) && path in ends
  }
  function text_of(path,   line, text) {
    if (path in texts) return texts[path]
    while ((getline line <path) > 0) if (line !~ /^[ \t]*(\/\/|#)/) text = text line "\n"
    close(path)
    return texts[path] = text
  }
  function has_word(text, word,   at) {
    while ((at = index(text, word)) > 0) {
      if (substr(text, at - 1, 1) !~ /[A-Za-z0-9_]/ && substr(text, at + length(word), 1) !~ /[A-Za-z0-9_]/) return 1
      text = substr(text, at + length(word))
    }
    return 0
  }
  FILENAME == ARGV[1] {
    end = path = $0
    sub(/\/.*/, "", path); if (path != $0) top[path] = 1
    for (path = $0; there[path] = 1; sub(/\/[^\/]*$/, "", path)) if (path !~ /\//) break
    for (; ends[end] = 1; end = substr(end, index(end, "/") + 1)) if (end !~ /\//) break
    next
  }
  FNR == 1 { folder = FILENAME; sub(/[^\/]*$/, "", folder) }
  /^#+ / {
    heading = tolower($0)
    sub(/^#+ +/, "", heading); gsub(/[^a-z0-9 _-]/, "", heading); gsub(/ /, "-", heading)
    headings[FILENAME "#" heading] = 1
  }
  {
    for (text = $0; match(text, /[A-Za-z0-9_.*\/-]+/); text = substr(text, RSTART + RLENGTH)) {
      path = substr(text, RSTART, RLENGTH)
      if (substr(text, RSTART - 1, 1) ~ /[<>]/ || path ~ /^\// || path ~ /^\.[^.\/]*$/) continue
      sub(/[.\/-]+$/, "", path)
      first = path; sub(/\/.*/, "", first)
      is_path = path ~ /\// && (first in top || first ~ /^\.+$/) || path ~ /\.(cc|h|proto|md|txt)$/ || path ~ /\/.*\.yaml$/
      if (is_path && !is_there(path)) complain(path)
    }
    for (text = $0; match(text, /`[^` ]+\.(cc|h|proto|sh)`: `[^`]+`(, `[^`]+`)*/); text = substr(text, RSTART + RLENGTH)) {
      count = split(substr(text, RSTART, RLENGTH), parts, "`")
      for (i = 4; i <= count; i += 2) {
        ++named
        if (!has_word(text_of(parts[2]), parts[i])) complain(parts[i] " in " parts[2])
      }
    }
    for (text = $0; match(text, /\]\([^)#:]*#[^)]+\)/); text = substr(text, RSTART + RLENGTH)) {
      link = substr(text, RSTART + 2, RLENGTH - 3)
      links[link ~ /^#/ ? FILENAME link : from_page(link)] = FILENAME ":" FNR
    }
  }
  END {
    for (link in links) if (!(link in headings)) print "heading " link "\t" links[link]
    if (named == 0) print "names in files: the patterns of this check are broken"
  }
' "$work/files" "${pages[@]}" | sort -u)
[[ -z $missing && -z $misled ]] && exit 0
[[ -z $missing ]] || printf 'cited, and not there:\n%s\n' "$missing"
[[ -z $misled ]] || printf 'named by a page, and not there:\n%s\n' "$misled"
exit 1
