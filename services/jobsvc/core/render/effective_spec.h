#pragma once

// A Job's spec as the controller reads it: the defaults of job spec 2.1 are applied in memory (2.8), so that a job that
// came past every webhook behaves like any other. Pure; accepts any spec, valid or not.
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/names.h"

namespace basalt::jobsvc {

inline constexpr int32_t kDefaultMaxRetry = 3;

struct DefaultOptions {
  std::string scheduler_name{kube::kDefaultScheduler};  // D2: the first configured scheduler name.
};

// Applies D1-D4, D6, D7, D9, D10, totalPartitions (14, S7), mpi's order (11.6), and D8 (spec.minAvailable) only while
// the phase is empty or the generation is 1: afterwards 0 is a legal value. The caller keeps the D8 value that the job
// got then. D5 (dnsPolicy) belongs to a pod and is applied when one is made (pod.h).
kube::v1::JobSpec EffectiveSpec(const kube::v1::Job& job, const DefaultOptions& options = {});

// A job with more pods than this is refused with a message: a typing error must not cost the process its memory.
inline constexpr int64_t kMaxPodsPerJob = 200'000;
// Counts the pods of all tasks; a task with negative replicas has none. Work whose cost grows with the number of pods
// is begun only if the job has not too many.
int64_t NumberOfPods(const kube::v1::JobSpec& spec);
inline bool HasTooManyPods(const kube::v1::JobSpec& spec) { return NumberOfPods(spec) > kMaxPodsPerJob; }

// Sum over tasks of minAvailable, or of replicas where it is unset. 64 bits, since a manifest may contain any number.
int64_t SumOfTaskMinimums(const kube::v1::JobSpec& spec);
int64_t SumOfReplicas(const kube::v1::JobSpec& spec);
int32_t DefaultMinAvailable(const kube::v1::JobSpec& spec);  // D8.

// Null if the spec does not name the plugin.
const kube::v1::JobPlugin* FindPlugin(const kube::v1::JobSpec& spec, std::string_view name);

}  // namespace basalt::jobsvc
