#include "services/jobsvc/core/pods/controlled_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/base/json.h"
#include "common/base/json_int32.h"
#include "common/kube/names.h"
#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

namespace {

constexpr std::string_view kKnown[] = {"seq",     "nonce",    "version", "kill",    "below",    "failedBelow",
                                       "command", "answered", "done",    "objects", "deadlines"};

constexpr std::pair<Retain, std::string_view> kRetains[] = {
    {Retain::kNone, "none"}, {Retain::kSucceeded, "succeeded"}, {Retain::kSoft, "soft"}};

Kill ReadKill(const json::value& value) {
  Kill kill;
  kill.cause = FindString(value, "cause");
  kill.action = FindString(value, "action");
  kill.version = FindInt32(value, "version");
  const std::string_view retain = FindString(value, "retain");
  for (const auto& [value_of, word] : kRetains) {
    if (retain == word) kill.retain = value_of;
  }
  kill.group_uid = FindString(value, "group");
  if (const json::value* targets = Find(value, "targets"); targets != nullptr && targets->is_array()) {
    for (const json::value& uid : targets->as_array()) {
      if (uid.is_string()) kill.targets.emplace(uid.as_string());
    }
  }
  return kill;
}

json::object WriteKill(const Kill& kill) {
  json::object value;
  value["cause"] = kill.cause;
  value["action"] = kill.action;
  value["version"] = kill.version;
  for (const auto& [retain, word] : kRetains) {
    if (retain == kill.retain) value["retain"] = word;
  }
  if (!kill.group_uid.empty()) value["group"] = kill.group_uid;
  if (!kill.targets.empty()) {
    json::array targets;
    for (const std::string& uid : kill.targets) targets.emplace_back(json::string(uid));
    value["targets"] = std::move(targets);
  }
  return value;
}

storage::v1::PendingAction ReadDeadline(const json::value& value) {
  storage::v1::PendingAction deadline;
  deadline.set_event(std::string(FindString(value, "event")));
  deadline.set_action(std::string(FindString(value, "action")));
  deadline.set_rule(std::string(FindString(value, "rule")));
  deadline.set_subject(std::string(FindString(value, "subject")));
  deadline.set_task(std::string(FindString(value, "task")));
  deadline.set_index(FindInt32(value, "index", -1));
  deadline.set_partition(FindInt32(value, "partition"));
  deadline.set_pod(std::string(FindString(value, "pod")));
  deadline.set_pod_uid(std::string(FindString(value, "uid")));
  deadline.set_version(FindInt32(value, "version", -1));
  deadline.set_time_ms(FindInt(value, "time"));
  deadline.set_due_ms(FindInt(value, "due"));
  deadline.set_timeout_ms(deadline.due_ms() - deadline.time_ms());
  deadline.set_observed(FindInt(value, "observed") != 0);
  deadline.set_reason(std::string(FindString(value, "reason")));
  return deadline;
}

json::object WriteDeadline(const storage::v1::PendingAction& deadline) {
  json::object value;
  value["event"] = deadline.event();
  value["action"] = deadline.action();
  value["rule"] = deadline.rule();
  value["subject"] = deadline.subject();
  if (!deadline.task().empty()) {
    value["task"] = deadline.task();
    value["index"] = deadline.index();
  }
  if (deadline.partition() != 0) value["partition"] = deadline.partition();
  if (!deadline.pod().empty()) {
    value["pod"] = deadline.pod();
    value["uid"] = deadline.pod_uid();
  }
  value["version"] = deadline.version();
  value["time"] = deadline.time_ms();
  value["due"] = deadline.due_ms();
  if (deadline.observed()) value["observed"] = 1;
  if (!deadline.reason().empty()) value["reason"] = deadline.reason();
  return value;
}

}  // namespace

const std::string* FindResource(const kube::v1::JobStatus& status, std::string_view key) {
  for (const auto& entry : status.controlled_resources()) {
    if (entry.key() == key) return &entry.value();
  }
  return nullptr;
}

bool IsMarked(const kube::v1::JobStatus& status, std::string_view plugin) {
  return FindResource(status, PluginMarkerKey(plugin)) != nullptr;
}

void SetResource(kube::v1::JobStatus& status, std::string_view key, std::string_view value) {
  for (auto& entry : *status.mutable_controlled_resources()) {
    if (entry.key() == key) {
      entry.set_value(std::string(value));
      return;
    }
  }
  auto* entry = status.add_controlled_resources();
  entry->set_key(std::string(key));
  entry->set_value(std::string(value));
  std::sort(status.mutable_controlled_resources()->begin(), status.mutable_controlled_resources()->end(),
            [](const auto& a, const auto& b) { return a.key() < b.key(); });
}

void EraseResource(kube::v1::JobStatus& status, std::string_view key) {
  auto* entries = status.mutable_controlled_resources();
  for (int i = 0; i < entries->size(); ++i) {
    if (entries->Get(i).key() == key) {
      entries->DeleteSubrange(i, 1);
      return;
    }
  }
}

std::string FormatRanges(const std::set<int32_t>& values) {
  std::string text;
  for (auto it = values.begin(); it != values.end();) {
    const int32_t first = *it;
    int32_t last = first;
    for (++it; it != values.end() && *it == last + 1; ++it) last = *it;
    if (!text.empty()) text += ',';
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

std::set<int32_t> ParseRanges(std::string_view text, size_t limit) {
  std::set<int32_t> values;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    int32_t first = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), first);
    if (error != std::errc() || first < 0) break;
    int32_t last = first;
    if (end != part.data() + part.size()) {
      const auto [stop, bad] = std::from_chars(end + 1, part.data() + part.size(), last);
      if (*end != '-' || bad != std::errc() || stop != part.data() + part.size() || last < first) break;
    }
    for (int64_t i = first; i <= last; ++i) {
      if (values.size() >= limit) return values;
      values.insert(static_cast<int32_t>(i));
    }
  }
  return values;
}

ControlledState ReadControlledState(const kube::v1::JobStatus& status) {
  ControlledState state;
  const std::string* text = FindResource(status, kube::kControlledStateKey);
  if (text == nullptr) return state;
  auto parsed = ParseJson(*text);
  if (!parsed.ok() || !parsed->is_object()) return state;
  const json::value& value = *parsed;
  state.sequence = FindInt(value, "seq");
  state.nonce = FindString(value, "nonce");
  state.overtaken = FindInt(value, "version", status.version()) != status.version();
  if (const json::value* kill = Find(value, "kill"); kill != nullptr && kill->is_object()) state.kill = ReadKill(*kill);
  state.delete_terminal_below = FindInt32(value, "below");
  state.delete_failed_below = FindInt32(value, "failedBelow");
  state.last_command_uid = FindString(value, "command");
  if (const json::value* answered = Find(value, "answered"); answered != nullptr && answered->is_array()) {
    for (const json::value& uid : answered->as_array()) {
      if (uid.is_string() && state.answered.size() < kMostAnswered) state.answered.emplace_back(uid.as_string());
    }
  }
  if (const json::value* done = Find(value, "done"); done != nullptr && done->is_object()) {
    size_t left = kMostIndices;  // A few bytes can name any number of indices.
    for (const auto& [task, ranges] : done->as_object()) {
      if (!ranges.is_string()) continue;
      std::set<int32_t>& indices = state.done[std::string(task)] = ParseRanges(ranges.as_string(), left);
      left -= indices.size();
    }
  }
  if (const json::value* objects = Find(value, "objects"); objects != nullptr && objects->is_object()) {
    for (const auto& [name, hash] : objects->as_object()) {
      if (hash.is_string()) state.objects[std::string(name)] = hash.as_string();
    }
  }
  if (const json::value* deadlines = Find(value, "deadlines"); deadlines != nullptr && deadlines->is_array()) {
    for (const json::value& deadline : deadlines->as_array()) {
      if (FindInt(deadline, "due") > 0) state.deadlines.push_back(ReadDeadline(deadline));
    }
  }
  if (state.overtaken) {
    state.kill.reset();
    state.answered.clear();
    state.done.clear();
    state.deadlines.clear();
  }
  json::object rest = value.as_object();
  for (std::string_view key : kKnown) rest.erase(key);
  if (!rest.empty()) state.rest = ToText(rest);
  return state;
}

void WriteControlledState(const ControlledState& state, kube::v1::JobStatus& status) {
  json::object value;
  value["seq"] = state.sequence;
  value["nonce"] = state.nonce;
  value["version"] = status.version();
  if (state.kill) value["kill"] = WriteKill(*state.kill);
  if (state.delete_terminal_below != 0) value["below"] = state.delete_terminal_below;
  if (state.delete_failed_below > state.delete_terminal_below) value["failedBelow"] = state.delete_failed_below;
  if (!state.last_command_uid.empty()) value["command"] = state.last_command_uid;
  if (!state.answered.empty()) value["answered"] = json::array(state.answered.begin(), state.answered.end());
  json::object done;
  for (const auto& [task, indices] : state.done) {
    if (!indices.empty()) done[task] = FormatRanges(indices);
  }
  if (!done.empty()) value["done"] = std::move(done);
  if (!state.objects.empty()) {
    json::object objects;
    for (const auto& [name, hash] : state.objects) objects[name] = hash;
    value["objects"] = std::move(objects);
  }
  if (!state.deadlines.empty()) {
    json::array deadlines;
    for (const storage::v1::PendingAction& deadline : state.deadlines) deadlines.emplace_back(WriteDeadline(deadline));
    value["deadlines"] = std::move(deadlines);
  }
  if (!state.rest.empty()) {
    if (auto rest = ParseJson(state.rest); rest.ok() && rest->is_object()) {
      for (const auto& [key, member] : rest->as_object()) {
        if (!value.contains(key)) value[key] = member;
      }
    }
  }
  SetResource(status, kube::kControlledStateKey, ToText(value));
}

}  // namespace basalt::jobsvc
