#include "common/shell/cluster_flags.h"

#include "absl/flags/flag.h"
#include "common/kube/names.h"

ABSL_FLAG(std::vector<std::string>, scheduler_name, {std::string(basalt::kube::kDefaultScheduler)},
          "schedulers whose pods are watched, those without a job, too; the first is that of jobs that name none");
ABSL_FLAG(std::vector<std::string>, namespaces, {},
          "namespaces in which jobs and pods are served, for example team-a,team-b; empty or '*': all. kube-system and "
          "--lease_namespace (unless that is 'default') only where they are named: '*,kube-system'");
