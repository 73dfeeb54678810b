#pragma once

// Sentences of an explanation that follow from little. Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/job/v1/job.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/task_facts.h"

namespace basalt::jobsvc {

// Of one task.
struct FailedPods {
  int32_t task = -1;  // Position in spec.tasks.
  int32_t count = 0;
  std::string first;  // The name of the one that failed first, and of it:
  int64_t finished_ms = 0;
  int32_t exit_code = 0;
  std::string reason;
};

std::string Ago(int64_t since_ms, int64_t now_ms);
// With a capital letter and a full stop; the path of a field stays as it is written.
std::string Sentence(std::string text);

// What led to a phase: an event with its subject, or the rule of the state machine. `restarted_by`: the restart that
// used up maxRetry, where that is the rule; null: it is not remembered.
std::string OriginOf(const job::v1::HistoryEntry& entered_by, const job::v1::HistoryEntry* restarted_by);

std::string FailureOf(const FailedPods& pods, const TaskShape& task);

}  // namespace basalt::jobsvc
