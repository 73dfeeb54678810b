#include "services/jobsvc/core/plugins/registry.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "services/jobsvc/core/plugins/env/env_plugin.h"
#include "services/jobsvc/core/plugins/hcclrank/hcclrank_plugin.h"
#include "services/jobsvc/core/plugins/mpi/mpi_plugin.h"
#include "services/jobsvc/core/plugins/pytorch/pytorch_plugin.h"
#include "services/jobsvc/core/plugins/ray/ray_plugin.h"
#include "services/jobsvc/core/plugins/ssh/ssh_plugin.h"
#include "services/jobsvc/core/plugins/svc/svc_plugin.h"
#include "services/jobsvc/core/plugins/tensorflow/tensorflow_plugin.h"

namespace basalt::jobsvc {
namespace {

template <typename T>
std::unique_ptr<Plugin> Make() {
  return std::make_unique<T>();
}

struct Entry {
  std::string_view name;
  std::unique_ptr<Plugin> (*make)() = nullptr;
};
// In the order in which the plugins work on a job. hcclrank is last because it reads a variable that pytorch injects.
constexpr Entry kPlugins[] = {
    {"env", &Make<EnvPlugin>}, {"svc", &Make<SvcPlugin>},
    {"ssh", &Make<SshPlugin>}, {"tensorflow", &Make<TensorflowPlugin>},
    {"mpi", &Make<MpiPlugin>}, {"pytorch", &Make<PytorchPlugin>},
    {"ray", &Make<RayPlugin>}, {"hcclrank", &Make<HcclrankPlugin>},
};

}  // namespace

std::vector<std::string_view> KnownPlugins() {
  std::vector<std::string_view> names;
  for (const Entry& plugin : kPlugins) names.push_back(plugin.name);
  return names;
}

std::unique_ptr<Plugin> MakePlugin(std::string_view name, const PluginArguments& arguments) {
  const auto* const found = std::find_if(std::begin(kPlugins), std::end(kPlugins),
                                         [name](const Entry& plugin) { return plugin.name == name; });
  if (found == std::end(kPlugins)) return nullptr;
  std::unique_ptr<Plugin> plugin = found->make();
  plugin->Read(arguments);
  return plugin;
}

Plugins MakePlugins(const kube::v1::JobSpec& effective_spec) {
  Plugins plugins;
  for (const Entry& known : kPlugins) {
    for (const kube::v1::JobPlugin& wanted : effective_spec.plugins()) {
      if (wanted.name() != known.name) continue;
      plugins.push_back(MakePlugin(known.name, wanted.arguments()));
      break;
    }
  }
  return plugins;
}

std::vector<WantedObject> WantedObjects(const Plugins& plugins, const JobView& job) {
  std::vector<WantedObject> all;
  for (const std::unique_ptr<Plugin>& plugin : plugins) {
    std::vector<WantedObject> objects = plugin->Objects(job);
    for (WantedObject& object : objects) {
      if (object.data_bytes <= kMostDataBytes) continue;
      for (std::string* const text : {&object.json, &object.patch}) std::string().swap(*text);
    }
    std::move(objects.begin(), objects.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace basalt::jobsvc
