#include "services/jobsvc/core/plugins/registry.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "services/jobsvc/core/plugins/env/env_plugin.h"
#include "services/jobsvc/core/plugins/ssh/ssh_plugin.h"
#include "services/jobsvc/core/plugins/svc/svc_plugin.h"

namespace basalt::jobsvc {
namespace {

// hcclrank is last because it reads a variable that pytorch injects.
constexpr std::array<std::string_view, 8> kKnown = {"env", "svc",     "ssh", "tensorflow",
                                                    "mpi", "pytorch", "ray", "hcclrank"};

template <typename T>
std::unique_ptr<Plugin> Make(const PluginArguments& arguments) {
  return std::make_unique<T>(arguments);
}

struct Factory {
  std::string_view name;
  std::unique_ptr<Plugin> (*make)(const PluginArguments&);
};
constexpr Factory kFactories[] = {{"env", &Make<EnvPlugin>}, {"svc", &Make<SvcPlugin>}, {"ssh", &Make<SshPlugin>}};

const Factory* FindFactory(std::string_view name) {
  for (const Factory& factory : kFactories) {
    if (factory.name == name) return &factory;
  }
  return nullptr;
}

}  // namespace

std::span<const std::string_view> KnownPlugins() { return kKnown; }

PluginSupport SupportOf(std::string_view name) {
  if (FindFactory(name) != nullptr) return PluginSupport::kSupported;
  return std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end() ? PluginSupport::kUnknown
                                                                       : PluginSupport::kKnown;
}

std::unique_ptr<Plugin> MakePlugin(std::string_view name, const PluginArguments& arguments) {
  const Factory* factory = FindFactory(name);
  return factory == nullptr ? nullptr : factory->make(arguments);
}

PluginSet MakePlugins(const kube::v1::JobSpec& effective_spec) {
  PluginSet set;
  for (const std::string_view name : kKnown) {
    for (const kube::v1::JobPlugin& wanted : effective_spec.plugins()) {
      if (wanted.name() != name) continue;
      std::unique_ptr<Plugin> plugin = MakePlugin(name, wanted.arguments());
      if (plugin == nullptr) {
        set.unsupported.emplace_back(name);
      } else {
        set.plugins.push_back(std::move(plugin));
      }
      break;
    }
  }
  for (const kube::v1::JobPlugin& wanted : effective_spec.plugins()) {
    if (SupportOf(wanted.name()) == PluginSupport::kUnknown) set.unknown.push_back(wanted.name());
  }
  std::sort(set.unknown.begin(), set.unknown.end());
  return set;
}

std::vector<WantedObject> WantedObjects(const PluginSet& set, const JobView& job) {
  std::vector<WantedObject> all;
  for (const std::unique_ptr<Plugin>& plugin : set.plugins) {
    std::vector<WantedObject> objects = plugin->Objects(job);
    std::move(objects.begin(), objects.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace basalt::jobsvc
