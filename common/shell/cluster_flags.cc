#include "common/shell/cluster_flags.h"

#include "absl/flags/flag.h"
#include "common/kube/names.h"

ABSL_FLAG(std::vector<std::string>, scheduler_name, {std::string(basalt::kube::kDefaultScheduler)},
          "names of Volcano's schedulers. The gateway watches their pods that belong to no job. A job that names no "
          "scheduler gets the first");
ABSL_FLAG(
    std::vector<std::string>, namespaces, {},
    "namespaces in which jobs and pods are served, for example team-a,team-b; empty or '*': all but kube-system and "
    "the namespace of the gateway's Lease (unless that is 'default'), which have to be named: '*,kube-system'");
