#!/usr/bin/env bash
# Keeps the seams honest: words of tests/checks/banned.txt stand only where they may, and no file tells of how and where
# it was written.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0
while IFS=$'\t' read -r pattern allowed why; do
  [[ -z $pattern || $pattern == \#* ]] && continue
  while IFS= read -r hit; do
    file=${hit%%:*}
    [[ $file =~ $allowed ]] && continue
    text=${hit#*:*:}
    [[ $text =~ ^[[:space:]]*// ]] && continue
    printf '%s\n    %s\n' "$hit" "$why"
    bad=1
  done < <(git grep -nIE "$pattern" -- '*.cc' '*.h' || true)
done <tests/checks/banned.txt
if git grep -nIE '/work/|TODO|FIXME|\bXXX\b|GTEST_SKIP\(\);' -- ':!tests/checks' ':!LICENSE'; then
  echo '    paths of one machine, and work that was not done, stay out'
  bad=1
fi
exit $bad
