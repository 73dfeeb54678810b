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
files=(-- ':!tests/checks' ':!LICENSE')
if git grep -nIE 'TODO|FIXME|\bXXX\b|GTEST_SKIP\(\);' "${files[@]}"; then
  echo '    work that was not done stays out'
  bad=1
fi
# Of the folders at the top those that every system has are fit to be named.
for folder in /*/; do
  case $folder in
    /bin/ | /boot/ | /dev/ | /etc/ | /home/ | /lib*/ | /media/ | /mnt/ | /opt/ | /proc/ | /root/ | /run/ | /sbin/) ;;
    /srv/ | /sys/ | /tmp/ | /usr/ | /var/ | /lost+found/) ;;
    *)
      if git grep -nIE "(^|[^[:alnum:]_./}-]|-[A-Z]|file://)$folder" "${files[@]}"; then
        echo "    $folder is a folder of this machine: its paths stay out"
        bad=1
      fi
      ;;
  esac
done
exit $bad
