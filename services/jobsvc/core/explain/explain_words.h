#pragma once

// Sentences of an explanation that follow from little. Pure.
#include <cstdint>
#include <string>
#include <vector>

#include "basalt/job/v1/job.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/explain/explain_pods.h"
#include "services/jobsvc/core/pods/task_facts.h"

namespace basalt::jobsvc {

std::string Ago(int64_t since_ms, int64_t now_ms);
// With a capital letter and a full stop; the path of a field stays as it is written.
std::string Sentence(std::string text);

// What led to a phase: an event with its subject, or the rule of the state machine. `restarted_by`: the restart that
// used up maxRetry, where that is the rule; null: it is not remembered.
std::string OriginOf(const job::v1::HistoryEntry& entered_by, const job::v1::HistoryEntry* restarted_by);

std::string FailureOf(const FailedPods& pods, const TaskShape& task);
std::string RestartsOf(const RestartingPods& pods);

// How a Running job ends by its counts (job spec 8.2, RUN), in one sentence.
std::string EndOf(const kube::v1::JobSpec& spec, const std::vector<TaskShape>& tasks);

// Kubernetes takes Always where nothing is said.
bool RestartsAlways(const kube::v1::TaskSpec& task);

}  // namespace basalt::jobsvc
