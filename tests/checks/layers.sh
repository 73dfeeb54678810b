#!/usr/bin/env bash
# Compares includes with the layers of CONTRIBUTING.md: a folder includes only the folders of its row.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0
# rule FOLDER FORBIDDEN [PATHSPEC…]: complains if a file below FOLDER includes a path that matches FORBIDDEN. Tests, their
# rig and files that the pathspecs exclude do not count.
rule() {
  local folder=$1 forbidden=$2 hits
  shift 2
  hits=$(git grep -nE "#include [<\"]($forbidden)" -- "$folder/*.cc" "$folder/*.h" "$@" | grep -vE '^[^:]*(_test|_bench)\.cc:|^common/testing/controller_rig/' || true)
  if [[ -n $hits ]]; then
    printf '%s may not include %s:\n%s\n' "$folder" "$forbidden" "$hits"
    bad=1
  fi
}
rule common 'services/|gateway/|kubesim/|cli/|dev/'
rule common/base 'common/(time|exec|http|kv|obs|rpc|watch|reconcile|runtime|history)/|grpc|rocksdb/'
rule common/time 'common/(exec|http|kv|obs|rpc|watch|reconcile|runtime|history)/'
rule common/exec 'common/(http|kv|obs|rpc|watch|reconcile|runtime|history)/'
rule common/kube 'common/(time|exec|http|kv|obs|rpc|watch|reconcile|runtime|history)/|grpc|rocksdb/'
rule common/kv 'common/(http|rpc|watch|reconcile|runtime|history)/|grpc'
rule common/history 'common/(time|exec|http|obs|kube|discovery|rpc|watch|reconcile|runtime)/|grpc|rocksdb/|(thread|mutex|condition_variable|shared_mutex|atomic)>'
rule common/watch 'common/(time|exec|http|kv|obs|rpc|reconcile|runtime|history)/|grpc|rocksdb/'
rule common/identity 'common/(time|exec|http|kv|obs|rpc|watch|reconcile|runtime|history)/|grpc|rocksdb/'
rule common/discovery 'common/(http|kv|rpc|reconcile|runtime|history)/|grpc'
for service in jobsvc pgsvc queuesvc; do
  rule "services/$service/core" "grpc|rocksdb/|common/(time|exec|http|kv|obs|rpc|watch|reconcile|runtime|history)/|.*\.grpc\.pb\.h|(thread|mutex|condition_variable|shared_mutex|atomic)>"
  rule "services/$service/control" 'grpcpp|rocksdb/|.*\.grpc\.pb\.h'
  others=$(printf '%s\n' jobsvc pgsvc queuesvc | grep -v "^$service$" | paste -sd'|')
  rule "services/$service" "services/($others)/|gateway/|kubesim/|cli/|dev/"
done
rule gateway/translate 'grpc|rocksdb/|common/(time|exec|http|kv|rpc|reconcile|runtime)/'
rule gateway/route 'grpcpp|rocksdb/|common/(time|exec|http|kv|rpc|reconcile|runtime)/|gateway/(kube|session|ownership|interests|watches|server|main)/'
rule gateway/access 'grpcpp|rocksdb/|common/(time|exec|http|kv|rpc|reconcile|runtime)/|gateway/(kube|session|ownership|interests|watches|server|main)/'
rule gateway/session 'grpcpp|rocksdb/|common/(http|kv)/|gateway/(kube|ownership|interests|watches|server|main)/'
rule gateway/ownership 'grpcpp|rocksdb/|common/(time|exec|http|kv|obs|reconcile|runtime)/|gateway/(kube|access|session|health|interests|watches|server|main)/'
rule gateway/interests 'grpcpp|rocksdb/|common/(http|kv)/|gateway/(access|ownership|health|watches|server|main)/'
rule gateway/watches 'grpcpp|rocksdb/|common/kv/|gateway/(access|session|ownership|interests|server|main)/'
rule gateway/health 'grpcpp|rocksdb/|common/kv/|gateway/(session|ownership|interests|watches|server|main)/'
rule gateway 'services/|kubesim/|cli/|dev/'
rule kubesim 'services/|gateway/|cli/|dev/'
rule cli 'services/|gateway/|kubesim/|dev/' ':!cli/render_command.cc'
# cli/render_command.cc renders a manifest with the code that runs in the cluster, but may use only its pure parts.
rule cli 'services/(pgsvc|queuesvc)/|services/jobsvc/(control|store|main|testing|api/([a-ln-z]|manifest_))|gateway/|kubesim/|dev/'
rule suite 'kubesim/|dev/|tests/'
rule cli/view 'grpc|.*\.grpc\.pb\.h|cli/(connect|follow|preflight|completion|[a-z_]*\.h)'
rule cli/connect 'cli/(view|follow|preflight|completion|[a-z_]*\.h)'
rule cli/follow 'cli/(preflight|completion|[a-z_]*\.h)'
for lower in common/runtime common/reconcile common/kv common/http common/rpc/sim gateway/kube gateway/lead gateway/session \
  gateway/ownership gateway/interests gateway/watches gateway/server services/jobsvc/control services/pgsvc/control services/queuesvc/control kubesim; do
  rule "$lower" 'grpcpp|common/rpc/grpc/'
done
rule common/runtime/objects 'common/(time|exec|http|kv|obs|rpc|reconcile)/|common/runtime/(slots/|[a-z_]+\.h)'
rule common/runtime/slots 'common/http/|common/runtime/(objects/|[a-z_]+\.h)'
rule common/runtime/events 'common/(time|http|kv|obs|rpc|reconcile)/|common/runtime/(objects/|slots/|[a-z_]*(replica|worker))'
rule common/runtime/watch 'common/(time|exec|http|obs|reconcile)/|common/runtime/(objects/|slots/|events/)'
# watch_part.h is a target of its own, above the workers.
rule common/runtime/watch 'common/runtime/[a-z_]*(replica|worker)|common/rpc/' ':!common/runtime/watch/watch_part.h'
rule common/rpc/grpc/streams 'common/rpc/grpc/(gateway|peers|forward)/'
rule common/rpc/grpc/gateway 'common/rpc/grpc/(peers|forward)/'
rule common/rpc/grpc/peers 'common/rpc/grpc/(gateway|forward)/'
rule common/rpc/grpc/forward 'common/rpc/grpc/(gateway|peers)/'
rule gateway/kube 'gateway/(session|health|ownership|interests|watches|server|main)/'
rule gateway/kube/reflect 'gateway/kube/write/'
rule gateway/kube/write 'gateway/kube/reflect/'
rule gateway/lead 'gateway/(session|health|ownership|interests|watches|server|main)/'
# The rules above exclude the rig of controllers, since it is above kubesim and the gateway's writer. It knows no service.
hits=$(git grep -nE '#include "(services/|cli/|dev/|gateway/(server|session|ownership|interests|watches|main|lead|health)/)' -- common/testing/controller_rig || true)
if [[ -n $hits ]]; then
  printf 'the rig of controllers may not know a service or a program:\n%s\n' "$hits"
  bad=1
fi
hits=$(git grep -nE '#include <grpcpp' -- common gateway kubesim dev ':!common/rpc/grpc' || true)
if [[ -n $hits ]]; then
  printf 'only common/rpc/grpc, the services and the command line may include gRPC:\n%s\n' "$hits"
  bad=1
fi
# Beast is for the embedded Kubernetes. The programs of the suite serve only pages.
for program in services gateway cli common/rpc common/shell; do
  rule "$program" 'common/http/server/|boost/(asio|beast)'
done
hits=$(git grep -n '#include <microhttpd' -- '*.cc' '*.h' ':!common/http/pages' || true)
if [[ -n $hits ]]; then
  printf 'only common/http/pages may include libmicrohttpd:\n%s\n' "$hits"
  bad=1
fi
# Only tests and basalt-dev link kubesim. The rig of controllers is above kubesim, and only tests link the rig.
hits=$(grep -rnE '\b(kubesim|controller_rig)' --include=CMakeLists.txt services gateway cli common 2>/dev/null |
  grep -vE '^(common/testing|services/[a-z]+/testing)/' || true)
if [[ -n $hits ]]; then
  printf 'only dev/ and tests may link kubesim and what stands over it:\n%s\n' "$hits"
  bad=1
fi
exit $bad
