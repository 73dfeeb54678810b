#pragma once

// The results of a cycle in a PodGroup: conditions, counters and Events (podgroup spec 9.4 to 9.6). Pure.
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

// Returns the fit error of the group after this cycle's attempt.
std::string FitErrorOf(const Group& group);

// Returns the group's conditions together with the condition of this cycle's verdict.
json::array ConditionsAfter(const Group& group, GangCondition verdict, std::string_view fit_error,
                            const CycleStamp& stamp);

// Returns whether the group's stored status has this phase, these conditions and the present counts already. Times and
// ids are ignored; conditions are compared by position.
bool SaysStatus(const Group& group, std::string_view phase, const json::array& conditions);

json::object MakeStatus(std::string_view phase, json::array conditions, const GangCounts& counts);

struct GroupEvent {
  std::string_view type, reason;
  std::string message;
};
// Returns an Event object about the group.
json::object MakeEvent(const Group& group, std::string_view name, const GroupEvent& event, absl::Time now);

}  // namespace basalt::actors
