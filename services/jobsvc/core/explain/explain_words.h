#pragma once

// Texts of an explanation that depend on few facts. Pure.
#include <cstdint>
#include <string>
#include <vector>

#include "basalt/job/v1/job.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/explain/explain_pods.h"
#include "services/jobsvc/core/pods/task_facts.h"

namespace basalt::jobsvc {

std::string Ago(int64_t since_ms, int64_t now_ms);
// Adds a capital letter and a full stop. The path of a field keeps its first letter.
std::string Sentence(std::string text);

// Returns what led to a phase: an event with its subject, or the rule of the state machine. `restarted_by` is the
// restart that used up maxRetry, if that is the rule. Null if the restart is not remembered.
std::string OriginOf(const job::v1::HistoryEntry& entered_by, const job::v1::HistoryEntry* restarted_by);

std::string FailureOf(const FailedPods& pods, const TaskShape& task);
std::string RestartsOf(const RestartingPods& pods);

// Returns how a Running job ends by its counts (job spec 8.2, RUN), in one sentence.
std::string EndOf(const kube::v1::JobSpec& spec, const std::vector<TaskShape>& tasks);

// Returns whether the restartPolicy is Always, which is Kubernetes' default.
bool RestartsAlways(const kube::v1::TaskSpec& task);

}  // namespace basalt::jobsvc
