#pragma once

// The PodGroup that a job wants (job spec 9.8). Comparison and JSON: common/kube/pod_group.h. Pure.
#include <cstdint>
#include <set>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/resources/resources.h"

namespace basalt::jobsvc {

// `spec` is the effective spec. `min_resources` is that of job spec 9.10 (common/kube/min_resources.h). The queue is
// used only at the group's creation.
kube::v1::PodGroupSpec WantedPodGroup(const kube::v1::JobSpec& spec, const kube::ResourceMap& min_resources);

// Returns whether the scheduler checks the minimums of tasks: it does if minMember covers them all.
bool CountsMinimums(const kube::v1::PodGroupSpec& group);

// Returns the group while tasks wait for others, so that their pods do not exist. The scheduler would wait for these
// pods, and they wait for pods that it has to start (W33). minMember becomes the sum of the minimums of the other
// tasks, or more if the whole gang needs more of them even with every pod of the waiting tasks. A higher number would
// keep them from starting where the whole gang could. The group loses the subgroups of the waiting tasks and, if the
// scheduler checks minimums of tasks, their minimums. `waits`: per task; may be shorter than the list of tasks.
// minResources stays: a queue admits the job if it has capacity for all of it.
kube::v1::PodGroupSpec WithoutWaiting(kube::v1::PodGroupSpec group, const kube::v1::JobSpec& spec,
                                      const std::vector<bool>& waits);

// Returns which tasks an existing group leaves out from now on: those that wait and, of those whose pods are being
// made, those that `observed` does not include. If the minimums of tasks count, `observed` names the tasks that it
// includes. Otherwise it names all of them, and minMember decides: a task is included if minMember is as high as in
// `whole` with all tasks that do not wait, less the done ones, or higher than it can be without the task. The latter
// holds for a group that was made for an older spec, too, since a job that grows raises both numbers. If neither holds,
// the task is left out until its pods are there. `waits`, `being_made`: per task of `spec`.
std::vector<bool> LeftOut(const kube::v1::PodGroupSpec& observed, const kube::v1::PodGroupSpec& whole,
                          const kube::v1::JobSpec& spec, const std::vector<std::set<int32_t>>& done,
                          std::vector<bool> waits, const std::vector<bool>& being_made);

// Returns the group of a job some of whose work is done although its pods are gone (W19). The scheduler counts a
// succeeded pod only as long as it exists: the rest of the gang starts exactly where the whole gang would if those pods
// still existed. `done`: per task the indices; may be shorter than the list of tasks. minResources stays, as it does
// while the pods exist. Nothing is subtracted for a task that waits (WithoutWaiting): the group does not include its
// pods.
kube::v1::PodGroupSpec WithoutDone(kube::v1::PodGroupSpec group, const kube::v1::JobSpec& spec,
                                   const std::vector<std::set<int32_t>>& done, const std::vector<bool>& waits = {});

}  // namespace basalt::jobsvc
