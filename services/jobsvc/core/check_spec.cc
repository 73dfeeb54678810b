#include "services/jobsvc/core/check_spec.h"

#include <fmt/format.h>

#include <string>

#include "services/jobsvc/core/compiled_job.h"
#include "services/jobsvc/core/plugins/registry.h"
#include "services/jobsvc/core/render/effective_spec.h"

namespace basalt::jobsvc {

namespace {

template <typename Policies>
std::string FirstTimeout(const Policies& policies, const std::string& where) {
  for (int i = 0; i < policies.size(); ++i) {
    if (policies.Get(i).has_timeout_ms() && policies.Get(i).timeout_ms() > 0) {
      return fmt::format("{}.policies[{}].timeout", where, i);
    }
  }
  return {};
}

}  // namespace

Words CheckSpec(const kube::v1::Job& job, const kube::v1::JobSpec& spec) {
  if (!job.decode_error().empty()) return {"InvalidJob", job.decode_error()};
  for (int i = 0; i < spec.tasks_size(); ++i) {
    if (spec.tasks(i).replicas() < 0) {
      return {"InvalidJob", fmt::format("spec.tasks[{}].replicas: must not be negative", i)};
    }
  }
  if (const int64_t total = SumOfReplicas(spec); total > kMaxPodsPerJob) {
    return {"InvalidJob",
            fmt::format("spec.tasks: {} pods in one job; at most {} are carried out", total, kMaxPodsPerJob)};
  }
  for (const auto& plugin : spec.plugins()) {
    switch (SupportOf(plugin.name())) {
      case PluginSupport::kSupported:
        break;
      case PluginSupport::kKnown:
        return {"UnsupportedPlugin",
                fmt::format("spec.plugins.{}: this version does not carry this plugin out; nothing is made for the job",
                            plugin.name())};
      case PluginSupport::kUnknown:
        return {"InvalidJob", fmt::format("spec.plugins.{}: there is no such plugin", plugin.name())};
    }
  }
  return {};
}

Words UnsupportedFields(const kube::v1::JobSpec& spec) {
  std::string field = FirstTimeout(spec.policies(), "spec");
  for (int i = 0; i < spec.tasks_size() && field.empty(); ++i) {
    field = FirstTimeout(spec.tasks(i).policies(), fmt::format("spec.tasks[{}]", i));
  }
  if (!field.empty()) {
    return {"UnsupportedField",
            fmt::format("{}: delayed actions are not carried out by this version; the policy is ignored", field)};
  }
  return {};
}

}  // namespace basalt::jobsvc
