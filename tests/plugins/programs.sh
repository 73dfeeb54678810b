#!/usr/bin/env bash
# Installs what the long tests of this folder start and scripts/packages.txt does not have: PyTorch from Debian, which is
# built for the processor alone, Ray and TensorFlow as wheels, of the versions in wheels/, below
# ${XDG_CACHE_HOME:-~/.cache}/basalt-plugins. What is there already is left as it is. What cannot be had is named, and the
# tests that need it are skipped.
set -uo pipefail
cd "$(dirname "$0")"
if ((EUID != 0)); then
  echo "nothing is installed: only root makes pods of namespaces, and the tests of these programs are skipped"
  exit 0
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/basalt-plugins
# One at a time: another run may use what lies there.
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9

if ! /usr/bin/python3 -c "import torch" 2>/dev/null; then
  install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends)
  { apt-get update -qq && "${install[@]}" python3-torch >/dev/null; } ||
    echo "PyTorch cannot be installed"
fi
for list in wheels/*.txt; do
  name=$(basename "$list" .txt)
  # An environment is complete when the list that it was made from lies in it.
  cmp -s "$list" "$cache/$name/complete" && continue
  rm -rf "${cache:?}/$name"
  if /usr/bin/python3 -m venv "$cache/$name" &&
    "$cache/$name/bin/pip" install --quiet --no-deps --only-binary :all: --requirement "$list"; then
    cp "$list" "$cache/$name/complete"
  else
    echo "$name cannot be installed"
  fi
done
exit 0
