#pragma once

// The words that a cycle leaves on a PodGroup: conditions, counters and Events (podgroup spec 9.4 to 9.6). Pure.
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "kubesim/actors/scheduler/scheduler_cache.h"

namespace basalt::actors {

struct CycleStamp {
  std::string uid;
  absl::Time now;
};

// Why the group's tasks are where they are, after this cycle's attempt.
std::string FitErrorOf(const Group& group);

// The group's conditions with this cycle's verdict among them.
json::array ConditionsAfter(const Group& group, GangCondition verdict, std::string_view fit_error,
                            const CycleStamp& stamp);

// The group's stored status already says it. Times and ids do not count; conditions compare by position.
bool SaysStatus(const Group& group, std::string_view phase, const json::array& conditions);

json::object MakeStatus(std::string_view phase, json::array conditions, const GangCounts& counts);

struct GroupEvent {
  std::string_view type, reason;
  std::string message;
};
// An Event object about the group.
json::object MakeEvent(const Group& group, std::string_view name, const GroupEvent& event, absl::Time now);

}  // namespace basalt::actors
