#!/usr/bin/env bash
# Runs against kubesim what people do with kubectl. Each case prints one line. The exit code is 0 if all cases pass.
# Usage: [KUBECTL=program] kubectl_test.sh KUBESIM_BINARY CRD_FOLDER
# KUBECTL replaces the kubectl in PATH. It must be 1.20 or later (Debian 12 has 1.20). Cases that an old kubectl does not
# support are left out.
set -u

kubesim=$1
crds=$2
kubectl_program=$(command -v "${KUBECTL:-kubectl}") || { echo "FAIL: no program ${KUBECTL:-kubectl}"; exit 1; }
kubectl_program=$(realpath "$kubectl_program")

dir=$(mktemp -d)
pid=
finish() {
  [ -n "$pid" ] && kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
  rm -rf "$dir"
}
trap finish EXIT
cd "$dir" || exit 1
export HOME=$dir KUBECONFIG=$dir/kubeconfig
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
mkdir bin
ln -s "$kubectl_program" bin/kubectl
export PATH=$dir/bin:$PATH
minor=$(kubectl version --client -o json | sed -n 's/.*"minor": "\([0-9]*\).*/\1/p')
# since MINOR: whether kubectl is at least 1.MINOR.
since() { [ "$minor" -ge "$1" ]; }

"$kubesim" --port_file=port --kubeconfig_out=kubeconfig --crds="$crds" --nodes=2 --no_workloads 2>kubesim.log &
pid=$!
# kubesim writes the file when it serves requests.
for _ in $(seq 300); do
  [ -s port ] && break
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.1
done
[ -s port ] || { echo "FAIL: kubesim does not serve"; cat kubesim.log; exit 1; }

passed=0
failed=0
fail() {
  echo "FAIL: $1"
  sed 's/^/    /' out
  failed=$((failed + 1))
}
pass() { passed=$((passed + 1)); }
# ok NAME COMMAND…: the case passes if the command succeeds.
ok() {
  local name=$1
  shift
  if timeout 60 "$@" >out 2>&1; then pass; else fail "$name: $*"; fi
}
# refused NAME PATTERN COMMAND…: the case passes if the command fails and its output matches.
refused() {
  local name=$1 pattern=$2
  shift 2
  if timeout 60 "$@" >out 2>&1; then
    fail "$name: succeeded: $*"
  elif grep -Eq -- "$pattern" out; then
    pass
  else
    fail "$name: no '$pattern' in the words of: $*"
  fi
}
# shows NAME PATTERN COMMAND…: the case passes if the command succeeds and its output matches.
shows() {
  local name=$1 pattern=$2
  shift 2
  if timeout 60 "$@" >out 2>&1 && grep -Eq -- "$pattern" out; then
    pass
  else
    fail "$name: no '$pattern' in: $*"
  fi
}

# in_phase NAME RESOURCE PHASE: the case passes if the object enters that phase.
in_phase() {
  if since 23; then
    ok "$1" kubectl wait --for=jsonpath='{.status.phase}'="$3" "$2" --timeout=20s
    return
  fi
  for _ in $(seq 100); do
    [ "$(kubectl get "$2" -o jsonpath='{.status.phase}')" = "$3" ] && break
    sleep 0.2
  done
  shows "$1" "^$3\$" kubectl get "$2" -o jsonpath='{.status.phase}'
}

cat >map.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: map, labels: {app: demo}}
data: {one: "1", two: "2"}
YAML
sed 's/one: "1", two: "2"/one: "10"/' map.yaml >map2.yaml
cat >pod.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: short}
spec:
  restartPolicy: Never
  containers: [{name: c, image: busybox, command: [sh, -c, "sleep 1; exit 3"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: long, labels: {app: long}}
spec:
  restartPolicy: Never
  containers: [{name: c, image: busybox, command: [sleep, infinity]}]
YAML
cat >group.yaml <<'YAML'
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: gang}
spec: {minMember: 1}
YAML
cat >queue.yaml <<'YAML'
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team}
spec: {parent: root}
YAML

shows "kubesim says what it does not do" "does not evaluate the validation rules" cat kubesim.log

# Version, kinds and nodes.
shows "version" "v1\.36" kubectl version
shows "api-resources" "podgroups.*pg" kubectl api-resources
shows "nodes" "node-1 +Ready" kubectl get nodes
shows "namespaces" "kube-system +Active" kubectl get ns
shows "queues" "root" kubectl get queues
ok "create queue" kubectl create -f queue.yaml
# Writes the status as queuesvc does. An old kubectl has no flag for the subresource.
printf '{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "team", "resourceVersion": "%s"}, "status": %s}' \
  "$(kubectl get queue team -o jsonpath='{.metadata.resourceVersion}')" \
  '{"state": "Closing", "pending": 1, "inqueue": 2, "running": 3, "unknown": 4, "completed": 5}' >queue.json
ok "state and counts" kubectl replace --raw /apis/scheduling.volcano.sh/v1beta1/queues/team/status -f queue.json
shows "columns of queues" "^NAME +PARENT +STATE +PENDING +INQUEUE +RUNNING +UNKNOWN +COMPLETED\$" kubectl get queues
shows "state and counts of a queue" "^team +root +Closing +1 +2 +3 +4 +5\$" kubectl get queues

# Create and read.
ok "create" kubectl create -f map.yaml
refused "create again" "AlreadyExists|already exists" kubectl create -f map.yaml
shows "get" "^map " kubectl get configmap map
shows "yaml" "one: \"1\"" kubectl get cm map -o yaml
shows "jsonpath" "^2$" kubectl get cm map -o "jsonpath={.data.two}"
shows "wide" "map" kubectl get cm -o wide
shows "labels in columns" "demo" kubectl get cm map --show-labels
shows "selector" "map" kubectl get cm -l app=demo
refused "not there" "NotFound|not found" kubectl get cm absent
refused "unknown kind" "resource type" kubectl get nonsense
shows "generateName" "created" sh -c "sed 's/name: map,/generateName: map-,/' map.yaml | kubectl create -f -"
# kubectl 1.32 and later send what they make of flags in protobuf, which kubesim refuses. JSON is the way of all versions.
since 32 && refused "create of flags" "kubectl create -f" kubectl create configmap typed --from-literal=one=1
ok "create of flags in JSON" sh -c "kubectl create configmap typed --from-literal=one=1 --dry-run=client -o json | kubectl create -f -"
ok "create secret" sh -c "kubectl create secret generic hidden --from-literal=key=value --dry-run=client -o json | kubectl create -f -"
shows "secret is encoded" "^dmFsdWU=$" kubectl get secret hidden -o "jsonpath={.data.key}"

# Changing.
shows "apply over create" "configured" kubectl apply -f map2.yaml
shows "apply twice" "unchanged" kubectl apply -f map2.yaml
shows "apply removes" "^10 *$" kubectl get cm map -o "jsonpath={.data.one} {.data.missing}"
refused "server side conflict" "conflict" kubectl apply --server-side -f map.yaml
ok "server side forced" kubectl apply --server-side --force-conflicts -f map.yaml
shows "server side result" "^1$" kubectl get cm map -o "jsonpath={.data.one}"
ok "server side new" sh -c "sed 's/name: map,/name: ssa,/' map.yaml | kubectl apply --server-side -f -"
since 21 && shows "managed fields" "manager: kubectl" kubectl get cm ssa -o yaml --show-managed-fields
ok "patch strategic" kubectl patch cm map -p '{"data":{"three":"3"}}'
ok "patch merge" kubectl patch cm map --type=merge -p '{"data":{"two":null}}'
ok "patch json" kubectl patch cm map --type=json -p '[{"op":"replace","path":"/data/three","value":"33"}]'
shows "patched" "^33 *$" kubectl get cm map -o "jsonpath={.data.three} {.data.two}"
ok "edit" env EDITOR="sed -i 's/\"33\"/\"44\"/'" kubectl edit cm map
shows "edited" "^44$" kubectl get cm map -o "jsonpath={.data.three}"
ok "label" kubectl label cm map colour=red
refused "label twice" "overwrite" kubectl label cm map colour=blue
ok "label overwrite" kubectl label --overwrite cm map colour=blue
ok "annotate" kubectl annotate cm map note=hello
shows "labelled" "^blue hello$" kubectl get cm map -o "jsonpath={.metadata.labels.colour} {.metadata.annotations.note}"
ok "replace" kubectl replace -f map.yaml
ok "dry run" kubectl apply --dry-run=server -f map2.yaml
shows "dry run changed nothing" "^1$" kubectl get cm map -o "jsonpath={.data.one}"
ok "diff shows" sh -c "kubectl diff -f map2.yaml; test \$? -eq 1"

# Bad input.
since 25 && refused "bad field" "unknown field" sh -c "sed 's/minMember/minMembre/' group.yaml | kubectl create -f -"
refused "bad name" "Invalid value|RFC 1123" sh -c "sed 's/name: map,/name: Bad_Name,/' map.yaml | kubectl create -f -"
refused "bad custom resource" "minMember" sh -c "sed 's/minMember: 1/minMember: -1/' group.yaml | kubectl create -f -"

# Pods and waiting.
ok "create pods" kubectl apply -f pod.yaml
ok "wait running" kubectl wait --for=condition=Ready pod/long --timeout=20s
in_phase "wait failed" pod/short Failed
shows "pods" "short +0/1 +Error" kubectl get pods
shows "pods wide" "long +1/1 +Running.*node-" kubectl get pods -o wide
shows "describe" "Exit Code: +3" kubectl describe pod short
shows "describe node" "cpu: +64" kubectl describe node node-0
shows "field selector" "^pod/short$" kubectl get pods --field-selector=status.phase=Failed -o name
ok "logs" kubectl logs short
ok "run" kubectl run drained --image=busybox -- sleep infinity
ok "wait for the run" kubectl wait --for=condition=Ready pod/drained --timeout=20s
node=$(kubectl get pod drained -o "jsonpath={.spec.nodeName}")
ok "drain" kubectl drain "$node" --force --pod-selector=run=drained --timeout=20s
refused "drained" "not found" kubectl get pod drained
ok "uncordon" kubectl uncordon "$node"

# Custom resources: columns, Events.
ok "create group" kubectl apply -f group.yaml
in_phase "wait group" podgroup/gang Inqueue
shows "group columns" "STATUS +MINMEMBER +RUNNINGS +AGE" kubectl get pg
shows "group describe" "Inqueue" kubectl describe pg gang
shows "events" "podgroup/gang" kubectl get events
since 26 && shows "events command" "gang" kubectl events --for podgroup/gang

# Watching.
kubectl get cm -w --output-watch-events >watched 2>&1 &
watcher=$!
for _ in $(seq 100); do grep -q "ADDED.* map " watched && break; sleep 0.1; done
ok "change under watch" kubectl label cm map seen=yes
ok "delete under watch" kubectl delete cm ssa
for _ in $(seq 100); do grep -q "DELETED.* ssa " watched && break; sleep 0.1; done
kill "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null
shows "watch shows changes" "MODIFIED +map" cat watched
shows "watch shows ends" "DELETED +ssa" cat watched

# Deleting.
ok "delete gracefully" kubectl delete pod long --timeout=30s
refused "gone" "not found" kubectl get pod long
ok "delete now" kubectl delete pod short --grace-period=0 --force
owner() {
  kubectl create -f - <<YAML >/dev/null
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: $1}
YAML
  kubectl create -f - <<YAML
apiVersion: v1
kind: ConfigMap
metadata:
  name: child-of-$1
  ownerReferences:
  - {apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, name: $1, uid: $(kubectl get pg "$1" -o jsonpath='{.metadata.uid}'), blockOwnerDeletion: true, controller: true}
YAML
}
for mode in background foreground orphan; do
  owner "o-$mode" >out 2>&1 || fail "owner $mode"
  ok "delete $mode" kubectl delete pg "o-$mode" --cascade="$mode" --timeout=30s
done
# Before 1.21, kubectl fails when it waits for the end of an object that is gone.
if since 21; then
  ok "children go" kubectl wait --for=delete cm/child-of-o-background cm/child-of-o-foreground --timeout=20s
else
  for child in child-of-o-background child-of-o-foreground; do
    kubectl wait --for=delete "cm/$child" --timeout=20s >out 2>&1
    refused "$child goes" "not found" kubectl get cm "$child"
  done
fi
ok "orphans stay" kubectl get cm child-of-o-orphan
cat >space.yaml <<'YAML'
apiVersion: v1
kind: Namespace
metadata: {name: space}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inside, namespace: space}
YAML
ok "namespace" kubectl apply -f space.yaml
ok "delete namespace" kubectl delete ns space --timeout=30s
refused "namespace is gone" "not found" kubectl get ns space
ok "delete all" kubectl delete cm --all

# The end.
kill -TERM "$pid"
wait "$pid"
code=$?
pid=
[ $code -eq 0 ] && pass || { cp kubesim.log out; fail "SIGTERM ends kubesim with code $code"; }

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
