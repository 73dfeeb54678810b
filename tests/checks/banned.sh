#!/usr/bin/env bash
# Checks that the words of tests/checks/banned.txt occur only in the files where they are allowed, and that no file names
# unfinished work or folders of the machine on which it was written.
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
# A file may name only those folders of / that every system has.
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
