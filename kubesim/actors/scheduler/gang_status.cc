#include "kubesim/actors/scheduler/gang_status.h"

#include <fmt/format.h>

#include <utility>

#include "common/kube/names.h"
#include "kubesim/actors/client/text.h"

namespace basalt::actors {
namespace {

constexpr std::pair<const char*, TaskState> kCounters[] = {
    {"running", TaskState::kRunning}, {"succeeded", TaskState::kSucceeded}, {"failed", TaskState::kFailed}};

const json::array& SeenConditions(const Group& group) {
  static const json::array& none = *new json::array();
  const json::value* seen = FindPath(group.object, {"status", "conditions"});
  return seen == nullptr || !seen->is_array() ? none : seen->get_array();
}

bool SameConditions(const json::array& seen, const json::array& wanted) {
  if (seen.size() != wanted.size()) return false;
  for (size_t i = 0; i < seen.size(); ++i) {
    for (const std::string_view member : {"type", "status", "reason", "message"}) {
      if (FindString(seen[i], member) != FindString(wanted[i], member)) return false;
    }
  }
  return true;
}

void PutCondition(json::array& conditions, json::object condition) {
  for (json::value& each : conditions) {
    if (FindString(each, "type") != std::string_view(condition["type"].as_string())) continue;
    each = std::move(condition);
    return;
  }
  conditions.push_back(std::move(condition));
}

}  // namespace

std::string FitErrorOf(const Group& group) {
  const int pending = group.counts.Of(TaskState::kPending);
  FitFacts facts;
  facts.min_member = group.min_member;
  facts.ready = ReadyForGang(group.counts, group.min_member);
  facts.pending_unschedulable = pending;
  if (group.attempt.has_value()) {
    facts.pending_schedulable = group.attempt->placed;
    facts.pending_unschedulable = group.attempt->unfit;
    facts.pending_undetermined = pending - group.attempt->placed - group.attempt->unfit;
  }
  facts.job_reason = group.unscheduled_why;
  facts.task_reason = group.task_why;
  return FitError(group.counts, facts);
}

json::array ConditionsAfter(const Group& group, GangCondition verdict, std::string_view fit_error,
                            const CycleStamp& stamp) {
  json::array conditions = SeenConditions(group);
  json::object condition{
      {"status", "True"}, {"transitionID", Text(stamp.uid)}, {"lastTransitionTime", Text(stamp.now)}};
  if (verdict == GangCondition::kUnschedulable) {
    const int shortfall = TaskShortfall(group.min_task_member, group.min_member, group.ready_by_task);
    const int missing =
        group.attempt.has_value() ? group.attempt->missing : TasksMissing(group.counts, group.min_member, shortfall);
    condition["type"] = "Unschedulable";
    condition["reason"] = "NotEnoughResources";
    condition["message"] =
        Text(fmt::format("{}/{} tasks in gang unschedulable: {}", missing, group.counts.tasks(), fit_error));
  } else if (verdict == GangCondition::kScheduled) {
    condition["type"] = "Scheduled";
    condition["reason"] = "tasks in gang are ready to be scheduled";
  }
  if (verdict != GangCondition::kNone) PutCondition(conditions, std::move(condition));
  return conditions;
}

bool SaysStatus(const Group& group, std::string_view phase, const json::array& conditions) {
  static const json::value& none = *new json::value(json::object());
  const json::value* found = Find(group.object, "status");
  const json::value& seen = found == nullptr ? none : *found;
  if (FindString(seen, "phase") != phase || !SameConditions(SeenConditions(group), conditions)) return false;
  for (const auto& [name, state] : kCounters) {
    if (FindInt(seen, name) != group.counts.Of(state)) return false;
  }
  return true;
}

json::object MakeStatus(std::string_view phase, json::array conditions, const GangCounts& counts) {
  json::object status{{"phase", Text(phase)}};
  if (!conditions.empty()) status["conditions"] = std::move(conditions);
  for (const auto& [name, state] : kCounters) {
    if (counts.Of(state) > 0) status[name] = counts.Of(state);
  }
  return status;
}

json::object MakeEvent(const Group& group, std::string_view name, const GroupEvent& event, absl::Time now) {
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata", json::object{{"name", Text(name)}, {"namespace", Text(group.space)}}},
          {"involvedObject", json::object{{"apiVersion", Text(kube::kSchedulingApiVersion)},
                                          {"kind", "PodGroup"},
                                          {"namespace", Text(group.space)},
                                          {"name", Text(group.name)},
                                          {"uid", Text(group.uid)}}},
          {"type", Text(event.type)},
          {"reason", Text(event.reason)},
          {"message", Text(event.message)},
          {"source", json::object{{"component", Text(kube::kDefaultScheduler)}}},
          {"reportingComponent", Text(kube::kDefaultScheduler)},
          {"reportingInstance", ""},
          {"count", 1},
          {"firstTimestamp", Text(now)},
          {"lastTimestamp", Text(now)}};
}

}  // namespace basalt::actors
