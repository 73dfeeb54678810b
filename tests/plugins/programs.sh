#!/usr/bin/env bash
# Installs the programs of this folder's long tests that scripts/packages.txt does not have: PyTorch from Debian, which is
# built for the processor alone, and Ray and TensorFlow as wheels, in the versions of wheels/, below
# ${XDG_CACHE_HOME:-~/.cache}/basalt-plugins. Installed programs are left as they are. The script names the programs that
# it cannot install, and the tests that need these are skipped.
set -uo pipefail
cd "$(dirname "$0")"
if ((EUID != 0)); then
  echo "nothing is installed: only root makes pods of namespaces, and the tests of these programs are skipped"
  exit 0
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/basalt-plugins
# One run at a time, since another run may use the folder.
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
  # An environment is complete when it contains the list from which it was made.
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
