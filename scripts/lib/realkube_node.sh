# Sourced by scripts/realkube: a real node of a cluster. Kubelet, containerd, kube-proxy, CoreDNS, the scheduler, a pod
# network and kube-router, which enforces NetworkPolicies, run in namespaces of the cluster's own for network, mounts
# and processes. The namespaces end with the process that holds them, so that nothing stays mounted, bridged or routed
# on the machine. The machine itself gets one end of a cable to the cluster and one group of processes, cgroup/basalt-N;
# `down` removes both.
source "$ROOT/scripts/lib/program_image.sh"

readonly NODE_NAME=real-0
readonly PAUSE_IMAGE=basalt.test/pause:1
readonly CGROUPS=/sys/fs/cgroup

# ---- building ----

# build_node_programs: builds kubelet, kube-proxy, kube-scheduler, kube-router, coredns and the archives of two images,
# of pause and of a shell with busybox's tools, and prints their folder.
build_node_programs() {
  local out
  [[ $kubernetes == 1.36 ]] || die "--node: only Kubernetes 1.36 has a real node here"
  out=$(cd "$SOURCE" && go_folder "basalt-realkube/node-$KUBERNETES-" node/go.mod node/go.sum node/*/main.go coredns/go.mod \
    coredns/go.sum coredns/main.go network-policies/go.mod network-policies/go.sum "$ROOT/scripts/lib/program_image.sh")
  build_once "$out/complete" go_build_node_programs "$out" || die "a real node cannot be built"
  printf '%s\n' "$out"
}

go_build_node_programs() {
  local flags=(-p "$JOBS" -trimpath -ldflags "-s -w $(version_flags)")
  export GOFLAGS=-mod=readonly
  (cd "$SOURCE/node" && go build "${flags[@]}" -o "$1/" ./kubelet ./kube-proxy ./kube-scheduler) &&
    (cd "$SOURCE/node" && CGO_ENABLED=0 go build "${flags[@]}" -o "$1/" ./pause) &&
    (cd "$SOURCE/coredns" && go build "${flags[@]}" -o "$1/coredns" .) &&
    (cd "$SOURCE/network-policies" &&
      go build "${flags[@]}" -o "$1/kube-router" github.com/cloudnativelabs/kube-router/v2/cmd/kube-router) &&
    program_image "$1/pause.tar" "$PAUSE_IMAGE" "$1/pause" &&
    program_image "$1/busybox.tar" basalt.test/busybox:1 "$(command -v busybox)" &&
    touch "$1/complete"
}

# ---- the namespaces ----

# in_node COMMAND…: runs a command as a process of the node.
in_node() { nsenter --net="/proc/$(pid_of unshare)/ns/net" --mount="/proc/$(pid_of unshare)/ns/mnt" --pid="/proc/$(pid_of unshare)/ns/pid_for_children" "$@"; }

# open_node: makes the namespaces and the cable. NODE_NUMBER keeps the addresses of several clusters of one machine
# apart.
open_node() {
  ((EUID == 0)) || die "--node needs root: it makes namespaces, mounts and a bridge"
  [[ -d $CGROUPS/memory ]] || die "--node needs control groups of version 1: $CGROUPS/memory is not there"
  mkdir -p "$dir/node"/{containerd,kubelet,log,lib,cni}
  launch unshare --net --mount --pid --fork --kill-child --propagation private bash -euc '
    mount -t proc proc /proc
    mount --make-rshared /
    mount -t tmpfs tmpfs /run
    mkdir /run/lock
    mount --bind "$1/node/log" /var/log
    mount --bind "$1/node/lib" /var/lib
    ip link set lo up
    echo 1 >/proc/sys/net/ipv4/ip_forward
    # Pods of one node reach each other through the bridge. Policies must apply to that traffic, too.
    echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
    touch "$1/node/open"
    while true; do sleep 3600 & wait $! || true; done' _ "$dir"
  await 20 unshare test -e "$dir/node/open"
  ip link add "basalt$NODE_NUMBER" type veth peer name eth0 netns "$(pid_of unshare)"
  touch "$dir/node/cable"
  ip address add "10.130.$NODE_NUMBER.1/30" dev "basalt$NODE_NUMBER"
  ip link set "basalt$NODE_NUMBER" up
  in_node ip address add "$NODE_IP/30" dev eth0
  in_node ip link set eth0 up
  in_node ip route add default via "10.130.$NODE_NUMBER.1"
  # The machine reaches pods as another host of the pods' network does.
  ip route add "10.131.$NODE_NUMBER.0/24" via "$NODE_IP"
  local controller
  for controller in "$CGROUPS"/*/; do
    [[ $controller == */unified/ ]] || mkdir -p "$controller/basalt-$NODE_NUMBER"
  done
  # A cpuset group accepts processes only once it has processors and memory.
  cp "$CGROUPS/cpuset/cpuset.cpus" "$CGROUPS/cpuset/basalt-$NODE_NUMBER/cpuset.cpus"
  cp "$CGROUPS/cpuset/cpuset.mems" "$CGROUPS/cpuset/basalt-$NODE_NUMBER/cpuset.mems"
}

# close_node: ends the namespaces with everything in them. Then the groups of processes are empty and can be removed.
close_node() {
  local controller look
  stop_program unshare -KILL
  # If another cluster had the number, this cluster made neither a cable nor groups.
  [[ -e $dir/node/cable ]] || return 0
  ip link delete "basalt$NODE_NUMBER" 2>/dev/null || true
  for controller in "$CGROUPS"/*/; do
    for look in {1..50}; do
      [[ -d $controller/basalt-$NODE_NUMBER ]] || break
      find "$controller/basalt-$NODE_NUMBER" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
    done
  done
}

# launch_node PROGRAM ARGUMENTS…: starts a program as launch does, in the namespaces of the node.
launch_node() {
  local program=$1
  shift
  (cd "$dir" && exec setsid -f nsenter --net="/proc/$(pid_of unshare)/ns/net" --mount="/proc/$(pid_of unshare)/ns/mnt" \
    --pid="/proc/$(pid_of unshare)/ns/pid_for_children" "$(path_of "$program")" "$@" >>"$dir/log/$program.log" 2>&1 </dev/null)
}

# load_image ARCHIVE: loads an image for pods with imagePullPolicy Never or IfNotPresent, so that no registry is needed.
load_image() { in_node ctr --address /run/containerd/containerd.sock -n k8s.io images import "$1" >/dev/null; }

# ---- the programs ----

node_configuration() {
  cat >"$dir/node/containerd.toml" <<EOF
version = 2
root = "$dir/node/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE_IMAGE"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$dir/node/cni"
EOF
  cat >"$dir/node/cni/pods.conflist" <<EOF
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "pods", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.131.$NODE_NUMBER.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
  cat >"$dir/node/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $NODE_IP
healthzPort: 0
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $dir/pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $dir/pki/kubelet.crt
tlsPrivateKeyFile: $dir/pki/kubelet.key
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /basalt-$NODE_NUMBER
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
clusterDNS: [$NODE_IP]
clusterDomain: cluster.local
resolvConf: $dir/node/resolv.conf
maxPods: 110
syncFrequency: 5s
evictionHard: {memory.available: 50Mi}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
featureGates: {PodCertificateRequest: true, ClusterTrustBundle: true, ClusterTrustBundleProjection: true}
EOF
  printf 'nameserver %s\n' "$NODE_IP" >"$dir/node/resolv.conf"
  cat >"$dir/node/kube-proxy.yaml" <<EOF
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: $dir/kubeconfig/kube-proxy.yaml}
mode: iptables
clusterCIDR: 10.131.$NODE_NUMBER.0/24
hostnameOverride: $NODE_NAME
healthzBindAddress: ""
metricsBindAddress: ""
conntrack: {maxPerCore: 0, min: 0}
iptables: {minSyncPeriod: 100ms}
EOF
  # Pods without a node selector run on the real node.
  cat >"$dir/node/kube-scheduler.yaml" <<EOF
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: $dir/kubeconfig/kube-scheduler.yaml}
profiles:
  - pluginConfig:
      - name: NodeAffinity
        args:
          addedAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms: [{matchExpressions: [{key: basalt.dev/node, operator: In, values: [real]}]}]
EOF
  cat >"$dir/node/Corefile" <<EOF
cluster.local:53 in-addr.arpa:53 {
  bind $NODE_IP
  errors
  cache 5
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $dir/kubeconfig/coredns.yaml
    ttl 2
  }
}
EOF
}

# Nothing provisions volumes here. Therefore a few volumes exist for the first claims, on the disk of the machine.
readonly NODE_VOLUMES=24
volume_list() {
  local i
  for ((i = 0; i < NODE_VOLUMES; ++i)); do
    mkdir -p "$dir/node/volumes/$i"
    cat <<EOF
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: local-$i}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  local: {path: $dir/node/volumes/$i}
  nodeAffinity:
    required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [$NODE_NAME]}]}]}
EOF
  done
}

start_node() {
  volume_list | admin create -f - >/dev/null
  node_configuration
  launch_node containerd --config "$dir/node/containerd.toml"
  await 20 unshare in_node test -S /run/containerd/containerd.sock
  local archive
  for archive in "$NODE_PROGRAMS"/*.tar; do
    load_image "$archive"
  done
  # The manifests of examples/ name this image.
  in_node ctr --address /run/containerd/containerd.sock -n k8s.io images tag basalt.test/busybox:1 docker.io/library/busybox:1.36 >/dev/null
  launch_node kube-proxy --config "$dir/node/kube-proxy.yaml"
  launch_node coredns -conf "$dir/node/Corefile"
  launch_node kube-scheduler --config "$dir/node/kube-scheduler.yaml" --bind-address "$NODE_IP"
  launch_node kubelet --config "$dir/node/kubelet.yaml" --kubeconfig "$dir/kubeconfig/kubelet.yaml" \
    --root-dir "$dir/node/kubelet" --hostname-override "$NODE_NAME" --node-ip "$NODE_IP" --node-labels basalt.dev/node=real
  await 60 unshare admin wait --for condition=Ready --timeout 1s "node/$NODE_NAME"
  # kube-router needs the Node object.
  launch_node kube-router --kubeconfig "$dir/kubeconfig/kube-router.yaml" --hostname-override "$NODE_NAME" --run-firewall=true \
    --run-router=false --run-service-proxy=false --run-loadbalancer=false --service-cluster-ip-range 10.0.0.0/16 --health-port 0 \
    --iptables-sync-period 60s
}
