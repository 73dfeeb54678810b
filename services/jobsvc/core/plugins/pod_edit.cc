#include "services/jobsvc/core/plugins/pod_edit.h"

#include <fmt/format.h>

#include <unordered_set>
#include <utility>

namespace basalt::jobsvc {

namespace {

// This is not parent[name], which may move all members even if the name exists, and invalidate references to them.
json::value& Member(json::object& parent, std::string_view name) {
  json::value* found = parent.if_contains(ToJson(name));
  return found != nullptr ? *found : parent[ToJson(name)];
}

// Inserts the variables whose names are not there behind the first `behind` ones. Returns how many it inserted.
size_t InsertEnv(json::array& env, size_t behind, const std::vector<json::object>& variables) {
  std::unordered_set<std::string_view> given;
  for (const json::value& variable : env) given.insert(FindString(variable, "name"));
  json::array added;
  for (const json::object& variable : variables) {
    if (!given.contains(FindString(variable, "name"))) added.push_back(variable);
  }
  env.insert(env.begin() + static_cast<ptrdiff_t>(behind), added.begin(), added.end());
  return added.size();
}

}  // namespace

json::object& ObjectMember(json::object& parent, std::string_view name) {
  json::value& member = Member(parent, name);
  if (member.is_null()) member.emplace_object();
  return member.as_object();
}

json::array& ArrayMember(json::object& parent, std::string_view name) {
  json::value& member = Member(parent, name);
  if (member.is_null()) member.emplace_array();
  return member.as_array();
}

PodEdit::PodEdit(const JobView& job, const TaskView& task, json::object& pod, std::string mark_prefix)
    : job_(job), task_(task), pod_(pod), mark_prefix_(std::move(mark_prefix)) {}

json::object& PodEdit::metadata() { return ObjectMember(pod_, "metadata"); }
json::object& PodEdit::spec() { return ObjectMember(pod_, "spec"); }

std::string PodEdit::PerPod(IndexFunction function) {
  functions_.push_back(std::move(function));
  return fmt::format("{}{:04}", mark_prefix_, functions_.size() - 1);
}

std::string PodEdit::Index() {
  if (index_mark_.empty()) index_mark_ = PerPod([](int32_t index) { return fmt::format("{}", index); });
  return index_mark_;
}

std::string PodEdit::PodName() { return fmt::format("{}-{}-{}", job_.name, task_.name, Index()); }

void PodEdit::ForEachContainer(Containers which, const std::function<void(json::object&)>& edit) {
  for (json::value& container : ArrayMember(spec(), "containers")) edit(container.as_object());
  if (which == Containers::kNormal || !spec().contains("initContainers")) return;
  for (json::value& container : ArrayMember(spec(), "initContainers")) edit(container.as_object());
}

void PodEdit::AddPort(json::object& container, std::string_view name, int64_t port) {
  json::array& ports = ArrayMember(container, "ports");
  bool is_taken = false;
  for (const json::value& exposed : ports) {
    const json::value* const number = Find(exposed, "containerPort");
    if (number != nullptr && number->is_number() && number->to_number<double>() == static_cast<double>(port)) return;
    if (FindString(exposed, "name") == name) is_taken = true;
  }
  json::object added;
  if (!is_taken) added["name"] = ToJson(name);
  added["containerPort"] = port;
  ports.push_back(std::move(added));
}

void PodEdit::AddEnv(Containers which, const std::vector<json::object>& variables) {
  size_t at = 0;
  ForEachContainer(which, [&](json::object& container) {
    if (at == added_.size()) added_.push_back(0);
    added_[at] += InsertEnv(ArrayMember(container, "env"), added_[at], variables);
    ++at;
  });
}

void PodEdit::AddVolume(json::object volume) { ArrayMember(spec(), "volumes").push_back(std::move(volume)); }

void PodEdit::AddMount(Containers which, const json::object& mount) {
  ForEachContainer(which, [&](json::object& container) { ArrayMember(container, "volumeMounts").push_back(mount); });
}

}  // namespace basalt::jobsvc
