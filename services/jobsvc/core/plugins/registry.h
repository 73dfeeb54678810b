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

using Plugins = std::vector<std::unique_ptr<Plugin>>;

// Every name that a manifest may use, in the fixed order.
std::vector<std::string_view> KnownPlugins();

// Null: there is no plugin of that name.
std::unique_ptr<Plugin> MakePlugin(std::string_view name, const PluginArguments& arguments = {});

// Those of one job, in the fixed order, ready to work. Names of no plugin are passed over.
Plugins MakePlugins(const kube::v1::JobSpec& effective_spec);

// Of all plugins, in order. Of an object that is too large for Kubernetes only the size is kept: nobody sends it.
std::vector<WantedObject> WantedObjects(const Plugins& plugins, const JobView& job);

}  // namespace basalt::jobsvc
