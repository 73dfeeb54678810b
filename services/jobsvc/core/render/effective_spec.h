#pragma once

// A Job's spec as the controller reads it: the defaults of job spec 2.1 applied in memory (2.8), so that a job that
// came past every webhook behaves like one that did not. Pure; works on any spec, valid or not.
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/names.h"

namespace basalt::jobsvc {

inline constexpr int32_t kDefaultMaxRetry = 3;

struct DefaultOptions {
  std::string scheduler_name{kube::kDefaultScheduler};  // D2: the first configured scheduler name.
};

// D1-D4, D6, D7, D9, D10, totalPartitions (14, S7), mpi's order (11.6), and D8 (spec.minAvailable) only while the phase
// is empty or the generation is 1: afterwards 0 is a legal value. The caller keeps the D8 value that it was given. D5
// (dnsPolicy) belongs to a pod and is applied when one is made (pod.h).
kube::v1::JobSpec EffectiveSpec(const kube::v1::Job& job, const DefaultOptions& options = {});

// More pods than this in one job are refused in words: a typing error must not cost the process its memory.
inline constexpr int64_t kMaxPodsPerJob = 200'000;
// Of all tasks; one whose replicas are below 0 has none. What costs as much as the job has pods is begun only where
// they are not too many.
int64_t NumberOfPods(const kube::v1::JobSpec& spec);
inline bool HasTooManyPods(const kube::v1::JobSpec& spec) { return NumberOfPods(spec) > kMaxPodsPerJob; }

// Sum over tasks of minAvailable, or of replicas where that is not set. 64 bits: manifests may hold anything.
int64_t SumOfTaskMinimums(const kube::v1::JobSpec& spec);
int64_t SumOfReplicas(const kube::v1::JobSpec& spec);
int32_t DefaultMinAvailable(const kube::v1::JobSpec& spec);  // D8.

// Null where the spec does not name the plugin.
const kube::v1::JobPlugin* FindPlugin(const kube::v1::JobSpec& spec, std::string_view name);

}  // namespace basalt::jobsvc
