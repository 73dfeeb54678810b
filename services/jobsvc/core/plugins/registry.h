#pragma once

// Which plugins there are, and in which order they work on a job: env, svc, ssh, tensorflow, mpi, pytorch, ray,
// hcclrank (job spec 11.1). Stateless.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/plugins/arguments.h"
#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

enum class PluginSupport {
  kSupported,
  kKnown,    // A plugin of Volcano's that this version does not carry out: the job is told so, never run without it.
  kUnknown,  // No such plugin.
};

// Every name that a manifest may use, in the fixed order.
std::vector<std::string_view> KnownPlugins();
PluginSupport SupportOf(std::string_view name);

// Null unless supported.
std::unique_ptr<Plugin> MakePlugin(std::string_view name, const PluginArguments& arguments);

// The plugins of one job, ready to work.
struct PluginSet {
  std::vector<std::unique_ptr<Plugin>> plugins;  // In the fixed order.
  std::vector<std::string> unsupported;          // Known names, in the fixed order.
  std::vector<std::string> unknown;              // Sorted.
};
PluginSet MakePlugins(const kube::v1::JobSpec& effective_spec);

// Of all plugins, in order. Of an object that is too large for Kubernetes only the size is kept: nobody sends it.
std::vector<WantedObject> WantedObjects(const PluginSet& set, const JobView& job);

}  // namespace basalt::jobsvc
