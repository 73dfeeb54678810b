// What plugins ask of a job: C2, C14, X3, X5 of the job spec, and what this version does not carry out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/kube/name_rules.h"
#include "services/jobsvc/core/plugins/arguments.h"
#include "services/jobsvc/core/plugins/registry.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/validate/validate_rules.h"

namespace basalt::jobsvc {
namespace {

using Kind = ViolationKind;

constexpr size_t kMaxNameWithSvc = 59;  // <job>-svc names a volume.

}  // namespace

void CheckMpiMaster(Checker& c) {
  const kube::v1::JobPlugin* mpi = FindPlugin(c.spec, "mpi");
  if (mpi == nullptr) return;
  std::string master = "master";
  std::string worker;
  int64_t port = 0;
  Arguments flags;
  flags.Flag("master", &master);
  flags.Flag("worker", &worker);
  flags.Flag("port", &port);
  flags.Parse(mpi->arguments());
  if (HasTask(c.spec, master)) return;
  c.Add(Kind::kNotFound, "spec.plugins.mpi",
        fmt::format("{}: mpi works on a task that does not exist; name one with --master=",
                    master.empty() ? "has an empty --master" : fmt::format("is for '{}'", master)));
}

void CheckPluginNames(Checker& c) {
  for (const kube::v1::JobPlugin& plugin : c.spec.plugins()) {
    if (SupportOf(plugin.name()) != PluginSupport::kUnknown) continue;
    c.Add(Kind::kNotFound, fmt::format("spec.plugins.{}", plugin.name()),
          fmt::format("has a name that is no plugin; there are {}", fmt::join(KnownPlugins(), ", ")));
  }
}

void CheckUnsupportedPlugins(Checker& c) {
  for (const kube::v1::JobPlugin& plugin : c.spec.plugins()) {
    if (SupportOf(plugin.name()) != PluginSupport::kKnown) continue;
    c.Warn(fmt::format("spec.plugins.{}", plugin.name()),
           "is not carried out by this version: the job will wait and say so");
  }
}

void CheckPluginArguments(Checker& c) {
  for (const std::unique_ptr<Plugin>& plugin : MakePlugins(c.spec).plugins) {
    if (plugin->ArgumentComplaint().empty()) continue;
    c.Warn(fmt::format("spec.plugins.{}", plugin->Name()),
           fmt::format("has arguments that are not understood: {}", plugin->ArgumentComplaint()));
  }
}

void CheckNameForSvc(Checker& c) {
  // Whether it may begin with a digit, the API server knows: of versions before 1.36 it refuses the Service.
  if (FindPlugin(c.spec, "svc") == nullptr || (kube::IsDnsLabel(c.name) && c.name.size() <= kMaxNameWithSvc)) return;
  c.Add(Kind::kInvalid, "metadata.name",
        "names a Service, so with the svc plugin it must be a DNS label of at most 59 characters");
}

void CheckRayHead(Checker& c) {
  const kube::v1::JobPlugin* ray = FindPlugin(c.spec, "ray");
  if (ray == nullptr) return;
  std::string head = "head";
  std::string other;
  int64_t port = 0;
  Arguments flags;
  flags.Flag("head", &head);
  for (const std::string_view name : {"headContainer", "worker", "workerContainer"}) flags.Flag(name, &other);
  for (const std::string_view name : {"port", "dashboardPort", "clientPort", "clientServerPort"})
    flags.Flag(name, &port);
  flags.Parse(ray->arguments());
  if (HasTask(c.spec, head)) return;
  c.Add(Kind::kNotFound, "spec.plugins.ray",
        head.empty() ? "has an empty --head; name the task that it works on with --head="
                     : fmt::format("works on the task '{}', which does not exist; name one with --head=", head));
}

}  // namespace basalt::jobsvc
