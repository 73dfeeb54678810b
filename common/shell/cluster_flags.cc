#include "common/shell/cluster_flags.h"

#include "absl/flags/flag.h"
#include "common/kube/names.h"

ABSL_FLAG(std::vector<std::string>, scheduler_name, {std::string(basalt::kube::kDefaultScheduler)},
          "schedulers: the gateway watches their pods without a job; the first is that of jobs that name none");
ABSL_FLAG(
    std::vector<std::string>, namespaces, {},
    "namespaces in which jobs and pods are served, for example team-a,team-b; empty or '*': all but kube-system and "
    "the namespace of the gateway's Lease (unless that is 'default'), which have to be named: '*,kube-system'");
