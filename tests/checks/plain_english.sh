#!/usr/bin/env bash
# Counts the openings and the words at which a reader from outside stops: comments that begin with a genitive ("Of ...") or a
# nominal clause ("What ..."), and the private words told, tell, settle and judge in the product (CONTRIBUTING.md, Style).
# Neither count may grow over its limit.
#   tests/checks/plain_english.sh [--list]   --list prints the places
set -euo pipefail
cd "$(dirname "$0")/../.."
readonly MOST_OPENINGS=40 MOST_PRIVATE_WORDS=30
sources=(-- '*.cc' '*.h' '*.proto')
product=(-- '*.cc' '*.h' '*.proto' ':!tests' ':!*_test.cc' ':!*_bench.cc' ':!*testing*' ':!*fixture*' ':!*_rig*')
openings() { git grep -nIE '//+ (Of|What) [a-z`]|//.*[.:] (Of|What) [a-z`]' "${sources[@]}" || true; }
private_words() {
  git grep -nIE '\b([Tt]old|[Tt]ells?|[Tt]elling|[Ss]ettle[A-Za-z]*|[Jj]udge[A-Za-z]*)\b|_told|told_|tell_|\bTold[A-Z]|[a-z]Told|\bTell[A-Z]|[a-z]Tell' \
    "${product[@]}" || true
}
if [[ ${1:-} == --list ]]; then
  openings
  private_words
  exit 0
fi
bad=0
count=$(openings | wc -l)
if ((count > MOST_OPENINGS)); then
  echo "$count comments begin with \"Of\" or \"What\"; $MOST_OPENINGS may: give the sentence a subject and a verb (--list has the places)"
  bad=1
fi
count=$(private_words | wc -l)
if ((count > MOST_PRIVATE_WORDS)); then
  echo "$count lines of the product say told, tell, settle or judge; $MOST_PRIVATE_WORDS may: say reported, published, recorded, sent or checked"
  bad=1
fi
exit $bad
