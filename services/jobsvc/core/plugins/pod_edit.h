#pragma once

// The pod of one task while it is being compiled: plugins edit it once per task, not once per pod. What differs from
// pod to pod is written as a mark, which stands for its value until a pod is made.
//
// Lives for one compilation; confined to its caller.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"
#include "services/jobsvc/core/plugins/job_view.h"

namespace basalt::jobsvc {

class PodEdit {
 public:
  enum class Containers { kNormal, kNormalAndInit };
  using IndexFunction = std::function<std::string(int32_t index)>;

  // `job`, `task` (one of its tasks) and `pod` outlive this. `mark_prefix` occurs nowhere in the pod's own texts.
  PodEdit(const JobView& job, const TaskView& task, json::object& pod, std::string mark_prefix);

  const JobView& job() const { return job_; }
  const TaskView& task() const { return task_; }
  json::object& metadata();
  json::object& spec();

  // Stands for the pod's index in its task, in decimal; for its name.
  std::string Index();
  std::string PodName();
  // Stands for a text computed from the index. The text goes into the pod as it is, so it holds nothing that JSON
  // escapes.
  std::string PerPod(IndexFunction function);
  const std::vector<IndexFunction>& functions() const { return functions_; }
  const std::string& mark_prefix() const { return mark_prefix_; }

  void ForEachContainer(Containers which, const std::function<void(json::object&)>& edit);
  // Appends the port to the container unless the container exposes that number already; without the name where another
  // port of the container has that name, since Kubernetes refuses two of one name.
  static void AddPort(json::object& container, std::string_view name, int64_t port);
  // Adds to every container the variables whose names it does not have, behind those of earlier plugins and before
  // those of the template, which can refer to them: X=$(VC_TASK_INDEX).
  void AddEnv(Containers which, const std::vector<json::object>& variables);
  void AddVolume(json::object volume);
  void AddMount(Containers which, const json::object& mount);

 private:
  const JobView& job_;
  const TaskView& task_;
  json::object& pod_;
  const std::string mark_prefix_;
  std::vector<IndexFunction> functions_;
  std::string index_mark_;
  std::vector<size_t> added_;  // Variables of plugins in each container, in the order of ForEachContainer.
};

// The member of that name; made where it is missing or null. Requires: it is of that type otherwise (MakeJobView
// checks).
json::object& ObjectMember(json::object& parent, std::string_view name);
json::array& ArrayMember(json::object& parent, std::string_view name);

inline json::string_view ToJson(std::string_view s) { return {s.data(), s.size()}; }

}  // namespace basalt::jobsvc
