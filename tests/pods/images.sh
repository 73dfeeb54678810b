#!/usr/bin/env bash
# Builds the images that the tests in pods run, below build/pods, and prints that folder: basalt.tar, the image of this tree,
# and before.tar, the programs of the previous release as Debian 12 builds them. before.tar is built only once.
source "$(dirname "$0")/../../scripts/lib/common.sh"
source "$ROOT/scripts/lib/program_image.sh"

out=$ROOT/build/pods
mkdir -p "$out"
install_packages node >&2
"$ROOT/scripts/images" >&2
ln -sf ../images/basalt.tar "$out/basalt.tar"
read -r version commit < <(grep -v '^#' "$ROOT/docs/releases.txt" | tail -n 1)
if [[ $(cat "$out/before" 2>/dev/null) != "$commit" ]]; then
  bin=$("$ROOT/tests/e2e/release/build.sh")
  program_image "$out/before.tar" "basalt:$version" "$bin"/{gateway,jobsvc,pgsvc,queuesvc}
  printf '%s\n' "$commit" >"$out/before"
fi
printf '%s\n' "$out"
