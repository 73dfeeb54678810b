#!/usr/bin/env bash
# What sources and pages cite of the specifications is there: sections of docs/spec and docs/correctness.md, and rows by
# their id (W19, Q8), which are those of the specification of the folder's own service, or of docs/conformance.md.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "<page> <section>" and "<page> <row>" of all that can be cited.
for page in job-controller podgroup-controller pod-grouper queue-controller correctness; do
  file=docs/spec/$page.md
  [[ -f $file ]] || file=docs/$page.md
  sed -nE "s/^#+ ([0-9]+(\.[0-9]+)*)\.? .*/$page \1/p; s/^\| *([A-Z][0-9]+)[a-z]? .*/$page \1/p" "$file"
done >"$work/there"
# The rows of the job specification have numbers of their own in the page of conformance.
sed -nE 's/^\| ([0-9.]+ )?([A-Z][0-9]+)[a-z]? .*/job-controller \2/p' docs/conformance.md >>"$work/there"
sort -u -o "$work/there" "$work/there"

sources=('*.cc' '*.h' '*.proto' '*.md' ':!docs/spec' ':!docs/conformance.md' ':!CHANGELOG.md')
{
  # Sections: "job spec 9.8", "podgroup spec 6.2", "pod-grouper 9.4", "correctness 3", "design rule 3".
  git grep -noiE '\b((job|podgroup|queue) spec|pod-grouper|correctness( rules?)?|design rule) \(?[0-9]+(\.[0-9]+)*' -- "${sources[@]}" |
    sed -E 's/: *(job|queue|podgroup) spec /:\1-controller /I; s/:(correctness( rules?)?|design rule) \(?/:correctness /I; s/:pod-grouper /:pod-grouper /I' |
    awk -F: '{ print tolower($3) "\t" $1 ":" $2 }'
  # Rows, in comments.
  git grep -nE '//.*\b[WSCDPUVXQG][0-9]{1,2}\b' -- 'services/*.cc' 'services/*.h' 'common/*.h' 'proto/*.proto' ':!*_test.cc' |
    awk -F: '{
      page = $1 ~ /pgsvc|podgroup/ ? "podgroup-controller" : $1 ~ /queue/ ? "queue-controller" : "job-controller"
      where = $1 ":" $2
      sub(/^[^/]*\/\//, ""); text = $0
      while (match(text, /(^|[^A-Za-z0-9_.])[WSCDPUVXQG][0-9][0-9]?([^A-Za-z0-9_]|$)/)) {
        id = substr(text, RSTART, RLENGTH); gsub(/[^A-Z0-9]/, "", id)
        print page " " id "\t" where
        text = substr(text, RSTART + RLENGTH - 1)
      } }'
} | sort -u >"$work/cited"
missing=$(join -t $'\t' -v 1 "$work/cited" "$work/there")
[[ -s $work/cited ]] || { echo "nothing is cited: the patterns of this check are broken"; exit 1; }
[[ -z $missing ]] && exit 0
printf 'cited, and not there:\n%s\n' "$missing"
exit 1
