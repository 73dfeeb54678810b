#include "services/jobsvc/core/plugins/registry.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "services/jobsvc/core/plugins/env/env_plugin.h"
#include "services/jobsvc/core/plugins/ssh/ssh_plugin.h"
#include "services/jobsvc/core/plugins/svc/svc_plugin.h"

namespace basalt::jobsvc {
namespace {

template <typename T>
std::unique_ptr<Plugin> Make(const PluginArguments& arguments) {
  return std::make_unique<T>(arguments);
}

struct Entry {
  std::string_view name;
  std::unique_ptr<Plugin> (*make)(const PluginArguments&) = nullptr;  // Null: it is not carried out.
};
// In the order in which they work on a job. hcclrank is last because it reads a variable that pytorch injects.
constexpr Entry kPlugins[] = {
    {"env", &Make<EnvPlugin>},
    {"svc", &Make<SvcPlugin>},
    {"ssh", &Make<SshPlugin>},
    {"tensorflow"},
    {"mpi"},
    {"pytorch"},
    {"ray"},
    {"hcclrank"},
};

const Entry* Find(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kPlugins), std::end(kPlugins),
                                         [name](const Entry& plugin) { return plugin.name == name; });
  return found == std::end(kPlugins) ? nullptr : found;
}

}  // namespace

std::vector<std::string_view> KnownPlugins() {
  std::vector<std::string_view> names;
  for (const Entry& plugin : kPlugins) names.push_back(plugin.name);
  return names;
}

PluginSupport SupportOf(std::string_view name) {
  const Entry* const plugin = Find(name);
  if (plugin == nullptr) return PluginSupport::kUnknown;
  return plugin->make == nullptr ? PluginSupport::kKnown : PluginSupport::kSupported;
}

std::unique_ptr<Plugin> MakePlugin(std::string_view name, const PluginArguments& arguments) {
  const Entry* const plugin = Find(name);
  return plugin == nullptr || plugin->make == nullptr ? nullptr : plugin->make(arguments);
}

PluginSet MakePlugins(const kube::v1::JobSpec& effective_spec) {
  PluginSet set;
  for (const Entry& known : kPlugins) {
    for (const kube::v1::JobPlugin& wanted : effective_spec.plugins()) {
      if (wanted.name() != known.name) continue;
      if (known.make == nullptr) {
        set.unsupported.emplace_back(known.name);
      } else {
        set.plugins.push_back(known.make(wanted.arguments()));
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
    for (WantedObject& object : objects) {
      if (object.data_bytes <= kMostDataBytes) continue;
      for (std::string* const text : {&object.json, &object.patch}) std::string().swap(*text);
    }
    std::move(objects.begin(), objects.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace basalt::jobsvc
