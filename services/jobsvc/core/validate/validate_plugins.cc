// Rules of plugins: C2, C14, X3 and X5 of the job spec, the limits within which a program can start, and warnings about
// arguments that are hardly intended.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/kube/name_rules.h"
#include "services/jobsvc/core/plugins/mpi/mpi_plugin.h"
#include "services/jobsvc/core/plugins/ray/ray_plugin.h"
#include "services/jobsvc/core/plugins/registry.h"
#include "services/jobsvc/core/plugins/ssh/ssh_plugin.h"
#include "services/jobsvc/core/plugins/svc/svc_plugin.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/validate/validate_rules.h"

namespace basalt::jobsvc {
namespace {

using Kind = ViolationKind;

constexpr size_t kMaxNameWithSvc = 59;  // <job>-svc and <job>-ssh name volumes.

bool IsNameOfVolumes(std::string_view job) { return kube::IsDnsLabel(job) && job.size() <= kMaxNameWithSvc; }

std::string FieldOf(std::string_view plugin) { return fmt::format("spec.plugins.{}", plugin); }

// Finds the variables of a plugin that templates set themselves. Doubt() names the first and the number of the others.
// It is empty if there are none.
class SetVariables {
 public:
  SetVariables(const Plugin& plugin, const JobView& job) {
    for (PodVariable& variable : plugin.Variables(job)) {
      std::vector<PodVariable>& of_name = by_name_[variable.name];
      of_name.push_back(std::move(variable));
    }
    if (by_name_.empty()) return;
    for (const TaskView& task : job.tasks) {
      Look(task, "containers", /*are_init=*/false);
      Look(task, "initContainers", /*are_init=*/true);
    }
  }

  std::string Doubt() const {
    if (found_ == 0) return {};
    return fmt::format("finds a value of its own for {}{}: the pods have that of the template", first_,
                       found_ == 1 ? "" : fmt::format(", and for {} more", found_ - 1));
  }

 private:
  bool IsSet(const TaskView& task, bool are_init, std::string_view name) const {
    const auto found = by_name_.find(name);
    return found != by_name_.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const PodVariable& variable) {
             return (variable.task.empty() || variable.task == task.name) &&
                    (!are_init || variable.containers == PodEdit::Containers::kNormalAndInit);
           });
  }

  void Look(const TaskView& task, std::string_view list, bool are_init) {
    const json::value* const spec = task.pod_template.if_contains("spec");
    const json::value* const containers = spec == nullptr ? nullptr : Find(*spec, list);
    if (containers == nullptr || !containers->is_array()) return;
    for (const json::value& container : containers->get_array()) {
      const json::value* const env = Find(container, "env");
      if (env == nullptr || !env->is_array()) continue;
      for (const json::value& variable : env->get_array()) {
        const std::string_view name = FindString(variable, "name");
        if (!IsSet(task, are_init, name) || found_++ > 0) continue;
        first_ =
            fmt::format("{} in the container '{}' of the task '{}'", name, FindString(container, "name"), task.name);
      }
    }
  }

  std::map<std::string, std::vector<PodVariable>, std::less<>> by_name_;
  std::string first_;
  size_t found_ = 0;
};

}  // namespace

void CheckMpiMaster(Checker& c) {
  const kube::v1::JobPlugin* const wanted = FindPlugin(c.spec, "mpi");
  if (wanted == nullptr) return;
  MpiPlugin mpi;
  mpi.Read(wanted->arguments());
  if (HasTask(c.spec, mpi.master())) return;
  c.Add(Kind::kNotFound, "spec.plugins.mpi",
        fmt::format("{}: mpi works on a task that does not exist; name one with --master=",
                    mpi.master().empty() ? "has an empty --master" : fmt::format("is for '{}'", mpi.master())));
}

std::vector<std::string> PathsOfPlugins(const kube::v1::JobSpec& spec) {
  std::vector<std::string> paths;
  if (FindPlugin(spec, "svc") != nullptr) paths.emplace_back(kSvcMountPath);
  if (const kube::v1::JobPlugin* const wanted = FindPlugin(spec, "ssh"); wanted != nullptr) {
    SshPlugin ssh;
    ssh.Read(wanted->arguments());
    paths.push_back(ssh.key_file_path());
  }
  return paths;
}

void CheckPluginNames(Checker& c) {
  const std::vector<std::string_view> known = KnownPlugins();
  for (const kube::v1::JobPlugin& plugin : c.spec.plugins()) {
    if (std::find(known.begin(), known.end(), plugin.name()) != known.end()) continue;
    c.Add(Kind::kNotFound, FieldOf(plugin.name()),
          fmt::format("has a name that is no plugin; there are {}", fmt::join(known, ", ")));
  }
}

void CheckNameForSvc(Checker& c) {
  // Only the API server knows whether the name may begin with a digit: versions before 1.36 refuse such a Service.
  if (FindPlugin(c.spec, "svc") == nullptr || IsNameOfVolumes(c.name)) return;
  c.Add(Kind::kInvalid, "metadata.name",
        "names a Service, so with the svc plugin it must be a DNS label of at most 59 characters");
}

void CheckNameForSsh(Checker& c) {
  // With svc, the rule for svc covers this one.
  if (FindPlugin(c.spec, "ssh") == nullptr || FindPlugin(c.spec, "svc") != nullptr || IsNameOfVolumes(c.name)) return;
  c.Add(Kind::kInvalid, "metadata.name",
        "names a volume, so with the ssh plugin it must be a DNS label of at most 59 characters");
}

void CheckNameForRay(Checker& c) {
  if (FindPlugin(c.spec, "ray") == nullptr || c.name.size() <= kMaxNameWithRay) return;
  c.Add(Kind::kInvalid, "metadata.name",
        fmt::format("begins the name of the Service <name>-head-svc, so with the ray plugin it must have at most {} "
                    "characters",
                    kMaxNameWithRay));
}

void CheckRayHead(Checker& c) {
  const kube::v1::JobPlugin* const wanted = FindPlugin(c.spec, "ray");
  if (wanted == nullptr) return;
  RayPlugin ray;
  ray.Read(wanted->arguments());
  if (HasTask(c.spec, ray.head())) return;
  c.Add(Kind::kNotFound, "spec.plugins.ray",
        ray.head().empty()
            ? "has an empty --head; name the task of the head with --head="
            : fmt::format("works on the task '{}', which does not exist; name one with --head=", ray.head()));
}

void CheckPlugins(Checker& c) {
  const Plugins plugins = MakePlugins(c.spec);
  if (plugins.empty()) return;
  kube::v1::Job job;
  job.mutable_meta()->set_namespace_(c.job_namespace.data(), c.job_namespace.size());
  job.mutable_meta()->set_name(c.name.data(), c.name.size());
  // Other rules report a template of the wrong shape, and more pods than a job can have.
  std::optional<JobView> view;
  if (!HasTooManyPods(c.spec)) {
    if (absl::StatusOr<JobView> made = MakeJobView(job, c.spec); made.ok()) view = *std::move(made);
  }
  for (const std::unique_ptr<Plugin>& plugin : plugins) {
    const std::string field = FieldOf(plugin->Name());
    c.rule = "N4";
    const absl::Status startable = view ? plugin->Check(*view) : absl::OkStatus();
    if (!startable.ok()) c.Add(Kind::kInvalid, field, ToStd(startable.message()));
    c.rule = "N2";
    if (!plugin->ArgumentComplaint().empty()) {
      c.Warn(field,
             fmt::format("has arguments that cannot be used: {}; the others count", plugin->ArgumentComplaint()));
    }
    if (!view) continue;
    for (const std::string& doubt : plugin->Doubts(*view)) c.Warn(field, doubt);
    if (const std::string kept = SetVariables(*plugin, *view).Doubt(); !kept.empty()) c.Warn(field, kept);
  }
}

}  // namespace basalt::jobsvc
