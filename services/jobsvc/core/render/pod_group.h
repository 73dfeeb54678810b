#pragma once

// The PodGroup that a job wants (job spec 9.8). Comparison and JSON: common/kube/pod_group.h. Pure.
#include <cstdint>
#include <set>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/resources/resources.h"

namespace basalt::jobsvc {

// `spec` is the effective spec; `min_resources` of job spec 9.10 (common/kube/min_resources.h). The queue is only used
// at creation.
kube::v1::PodGroupSpec WantedPodGroup(const kube::v1::JobSpec& spec, const kube::ResourceMap& min_resources);

// Whether the scheduler looks at the minimums of tasks: where minMember covers them all.
bool CountsMinimums(const kube::v1::PodGroupSpec& group);

// The same while tasks wait for others, so that their pods are not there: the scheduler would wait for these pods, and
// they for those that it is to start (W33). Of the other tasks their minimums are asked for, and what more the whole
// gang needs of them although every pod of the tasks that wait is there: more would keep them from starting where the
// whole gang could. Not asked for is a subgroup of a task that waits, nor its minimum where minimums of tasks are
// looked at. `waits`: per task; may be shorter than the list of tasks. minResources stays: a queue admits the job where
// all of it has room.
kube::v1::PodGroupSpec WithoutWaiting(kube::v1::PodGroupSpec group, const kube::v1::JobSpec& spec,
                                      const std::vector<bool>& waits);

// Of a group that exists, which tasks it is to leave out from now on: those that wait, and of those whose pods are
// being made the ones that `observed` does not ask for. Where its minimums of tasks count, it names the tasks that it
// asks for. Else it names all of them, and minMember tells: a task is asked for where minMember is as high as `whole`
// has it with all tasks that do not wait, less what is done, or higher than it can be without the task. The latter
// holds of a group that was made for an older spec, too, since a job that grows raises both. Where neither is so, a
// task is left out until its pods are there. `waits`, `being_made`: per task of `spec`.
std::vector<bool> LeftOut(const kube::v1::PodGroupSpec& observed, const kube::v1::PodGroupSpec& whole,
                          const kube::v1::JobSpec& spec, const std::vector<std::set<int32_t>>& done,
                          std::vector<bool> waits, const std::vector<bool>& being_made);

// The same for a job some of whose work is done although its pods are gone (W19). The scheduler counts a pod that
// succeeded only as long as it exists: what is left of the gang starts exactly where the whole one would if they were
// still there. `done`: per task the indices; may be shorter than the list of tasks. minResources stays, as it stays
// where the pods still exist. Of a task that waits (WithoutWaiting) nothing is taken away: its pods were not asked for.
kube::v1::PodGroupSpec WithoutDone(kube::v1::PodGroupSpec group, const kube::v1::JobSpec& spec,
                                   const std::vector<std::set<int32_t>>& done, const std::vector<bool>& waits = {});

}  // namespace basalt::jobsvc
