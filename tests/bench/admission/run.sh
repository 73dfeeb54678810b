#!/usr/bin/env bash
# Measures the cost of admission policies for a real API server: its CPU time for the dry run of a creation of a job,
# without the policies and with them, with one queue and with many. Each figure is the median of three rounds. Called by
# scripts/bench admission [--quick].
source "$(dirname "$0")/../../../scripts/lib/common.sh"

jobs=1000 queues=(1 1000) # The queue root, which takes no jobs, does not count.
if [[ ${1:-} == --quick ]]; then jobs=100 queues=(1 100); fi
dir=$(mktemp -d /tmp/basalt-admission-XXXXXX)
trap '"$ROOT/scripts/realkube" down --dir "$dir/cluster" >/dev/null 2>&1; rm -rf "$dir"' EXIT
"$ROOT/scripts/realkube" up --dir "$dir/cluster" --nodes 0 --no-kwok >&2
export KUBECONFIG=$dir/cluster/kubeconfig/admin.yaml
pid=$(<"$dir/cluster/pids/kube-apiserver")
readonly TICKS=$(getconf CLK_TCK)

cpu_us() { awk -v ticks="$TICKS" '{print int(($14 + $15) * 1000000 / ticks)}' "/proc/$pid/stat"; }

queue() { printf -- '---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: %s}\nspec: {%s}\n' "$1" "$2"; }

for ((i = 0; i < jobs; ++i)); do
  printf -- '---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: job-%d}\nspec:\n  queue: open\n' "$i"
  printf '  tasks: [{name: t, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}]\n'
done >"$dir/jobs.yaml"
{ queue root ''; queue open 'parent: root'; } >"$dir/first.yaml"
kubectl create -f "$dir/first.yaml" >&2
for name in root open; do
  kubectl patch queue "$name" --subresource=status --type=merge -p '{"status":{"state":"Open"}}' >&2
done

# Prints the microseconds of CPU time for a creation.
round() {
  local begin
  begin=$(cpu_us)
  local made
  made=$(kubectl create --dry-run=server -f "$dir/jobs.yaml" | wc -l)
  ((made == jobs)) || die "$made of $jobs jobs were made"
  echo $((($(cpu_us) - begin) / jobs))
}

measure() {
  round >/dev/null
  printf '%-32s %6d queues  %8d us of CPU for a job\n' "$1" "$2" "$(for _ in 1 2 3; do round; done | sort -n | sed -n 2p)"
}

have=1
for many in "${queues[@]}"; do
  for ((; have < many; ++have)); do queue "queue-$have" 'parent: root'; done >"$dir/more.yaml"
  [[ ! -s $dir/more.yaml ]] || kubectl create -f "$dir/more.yaml" >/dev/null
  measure "no policies" "$many"
  kubectl apply -f "$ROOT/deploy/admission" >/dev/null
  sleep 2 # The API server reads its policies once a second.
  measure "admission" "$many"
  kubectl apply -f "$ROOT/deploy/admission/all-queues" >/dev/null
  sleep 2
  measure "admission, all-queues" "$many"
  kubectl delete --recursive --ignore-not-found -f "$ROOT/deploy/admission" >/dev/null
  sleep 2
done
