#pragma once

// The pod of one task while it is being compiled: plugins edit it once per task, not once per pod. A text that differs
// from pod to pod is written as a mark, which is replaced by its value when a pod is made.
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

  // `job`, `task` (one of its tasks) and `pod` must outlive this. `mark_prefix` occurs nowhere in the pod's own texts.
  PodEdit(const JobView& job, const TaskView& task, json::object& pod, std::string mark_prefix);

  const JobView& job() const { return job_; }
  const TaskView& task() const { return task_; }
  json::object& metadata();
  json::object& spec();

  // Returns the mark of the pod's index in its task, in decimal.
  std::string Index();
  // Returns the pod's name, which contains that mark.
  std::string PodName();
  // Returns the mark of a text that is computed from the index. The text is inserted into JSON unchanged, so it must
  // contain nothing that JSON escapes.
  std::string PerPod(IndexFunction function);
  const std::vector<IndexFunction>& functions() const { return functions_; }
  const std::string& mark_prefix() const { return mark_prefix_; }

  void ForEachContainer(Containers which, const std::function<void(json::object&)>& edit);
  // Adds the port unless the container exposes its number already. Leaves the name out if another port of the container
  // has it, since Kubernetes refuses two ports of one name.
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
  std::vector<size_t> added_;  // Number of variables of plugins in each container, in the order of ForEachContainer.
};

// Returns the member of that name, which is made if it is missing or null. Requires the right type otherwise
// (MakeJobView checks it).
json::object& ObjectMember(json::object& parent, std::string_view name);
json::array& ArrayMember(json::object& parent, std::string_view name);

inline json::string_view ToJson(std::string_view s) { return {s.data(), s.size()}; }

}  // namespace basalt::jobsvc
