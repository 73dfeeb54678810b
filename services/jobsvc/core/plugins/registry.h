#pragma once

// The plugins, and the order in which they work on a job: env, svc, ssh, tensorflow, mpi, pytorch, ray, hcclrank (job
// spec 11.1). Stateless.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/plugins/arguments.h"
#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

using Plugins = std::vector<std::unique_ptr<Plugin>>;

// Returns every name that a manifest may use, in the fixed order.
std::vector<std::string_view> KnownPlugins();

// Null if there is no plugin of that name.
std::unique_ptr<Plugin> MakePlugin(std::string_view name, const PluginArguments& arguments = {});

// Returns the plugins of one job, in the fixed order, ready to work. Skips names of no plugin.
Plugins MakePlugins(const kube::v1::JobSpec& effective_spec);

// Returns the objects of all plugins, in order. An object that is too large for Kubernetes is returned without its
// content, since nobody sends it.
std::vector<WantedObject> WantedObjects(const Plugins& plugins, const JobView& job);

}  // namespace basalt::jobsvc
