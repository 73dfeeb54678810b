#include "services/jobsvc/core/plugins/svc/svc_plugin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "common/kube/names.h"
#include "services/jobsvc/core/plugins/stable_text.h"

namespace basalt::jobsvc {
namespace {

struct TaskKeys {
  std::string file;   // <t_>.host
  std::string hosts;  // VC_<T_>_HOSTS
  std::string num;    // VC_<T_>_NUM
};

TaskKeys KeysOf(std::string_view task) {
  std::string lower(task);
  std::replace(lower.begin(), lower.end(), '-', '_');
  std::string upper = lower;
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return {lower + ".host", fmt::format("VC_{}_HOSTS", upper), fmt::format("VC_{}_NUM", upper)};
}

std::string ConfigMapName(const JobView& job) { return fmt::format("{}-svc", job.name); }

json::object PodsOfJob(const JobView& job) {
  return {{ToJson(kube::kJobNameKey), job.name}, {ToJson(kube::kJobNamespaceKey), job.job_namespace}};
}

WantedObject ConfigMap(const JobView& job) {
  json::object data;
  for (const TaskView& task : job.tasks) {
    const TaskKeys keys = KeysOf(task.name);
    const std::vector<std::string> hosts = HostsOf(job, task);
    data[keys.file] = fmt::format("{}", fmt::join(hosts, "\n"));
    data[keys.hosts] = fmt::format("{}", fmt::join(hosts, ","));
    data[keys.num] = fmt::format("{}", hosts.size());
  }
  WantedObject wanted{.plugin = "svc", .version = "v1", .plural = "configmaps", .kind = "ConfigMap"};
  wanted.name = ConfigMapName(job);
  for (const auto& member : data) wanted.data_bytes += member.value().get_string().size();
  wanted.hash = ContentHash(ToText(data));
  wanted.on_change = WantedObject::OnChange::kPatch;
  wanted.patch = ToText(json::object{{"data", data}});
  json::object object = OwnedObject(job, "v1", wanted.kind, wanted.name);
  object["data"] = std::move(data);
  wanted.json = ToText(object);
  return wanted;
}

WantedObject Service(const JobView& job, bool publish_not_ready_addresses) {
  WantedObject wanted{.plugin = "svc", .version = "v1", .plural = "services", .kind = "Service", .name = job.name};
  json::object spec = {{"clusterIP", "None"}, {"selector", PodsOfJob(job)}};
  if (publish_not_ready_addresses) spec["publishNotReadyAddresses"] = true;
  json::object object = OwnedObject(job, "v1", wanted.kind, wanted.name);
  wanted.hash = ContentHash(ToText(spec));
  object["spec"] = std::move(spec);
  wanted.json = ToText(object);
  return wanted;
}

WantedObject NetworkPolicy(const JobView& job) {
  WantedObject wanted{.plugin = "svc",
                      .group = "networking.k8s.io",
                      .version = "v1",
                      .plural = "networkpolicies",
                      .kind = "NetworkPolicy",
                      .name = job.name};
  const json::object selector = {{"matchLabels", PodsOfJob(job)}};
  json::object from;
  from["podSelector"] = selector;
  json::object rule;
  rule["from"] = json::array{json::value(std::move(from))};
  json::object spec;
  spec["podSelector"] = selector;
  spec["ingress"] = json::array{json::value(std::move(rule))};
  spec["policyTypes"] = json::array{json::value("Ingress")};
  json::object object = OwnedObject(job, "networking.k8s.io/v1", wanted.kind, wanted.name);
  wanted.hash = ContentHash(ToText(spec));
  object["spec"] = std::move(spec);
  wanted.json = ToText(object);
  return wanted;
}

json::object FromConfigMap(const JobView& job, const std::string& key) {
  return {{"name", key}, {"valueFrom", {{"configMapKeyRef", {{"name", ConfigMapName(job)}, {"key", key}}}}}};
}

}  // namespace

void SvcPlugin::Define(Arguments& arguments) {
  arguments.Flag("publish-not-ready-addresses", &publish_not_ready_addresses_,
                 "Pods have a host name before they are ready");
  arguments.Flag("disable-network-policy", &disable_network_policy_, "Other pods may reach the job's pods");
  arguments.Flag("inject-hosts-env", &inject_hosts_env_,
                 "Every container has VC_<TASK>_HOSTS and VC_<TASK>_NUM of every task");
}

absl::Status SvcPlugin::Check(const JobView& job) const {
  if (!inject_hosts_env_) return absl::OkStatus();
  for (const TaskView& task : job.tasks) {
    const std::string hosts = fmt::format("{}", fmt::join(HostsOf(job, task), ","));
    absl::Status fits = CheckVariable(KeysOf(task.name).hosts, hosts.size(),
                                      "--inject-hosts-env=false leaves the hosts to their file below /etc/volcano");
    if (!fits.ok()) return fits;
  }
  return absl::OkStatus();
}

std::vector<WantedObject> SvcPlugin::Objects(const JobView& job) const {
  std::vector<WantedObject> objects;
  objects.push_back(ConfigMap(job));
  objects.push_back(Service(job, publish_not_ready_addresses_));
  if (!disable_network_policy_) objects.push_back(NetworkPolicy(job));
  for (WantedObject& object : objects) object.object_namespace = job.job_namespace;
  return objects;
}

std::vector<PodVariable> SvcPlugin::Variables(const JobView& job) const {
  std::vector<PodVariable> variables;
  if (!inject_hosts_env_) return variables;
  for (const TaskView& task : job.tasks) {
    TaskKeys keys = KeysOf(task.name);
    for (std::string* const name : {&keys.hosts, &keys.num}) {
      variables.push_back({std::move(*name), {}, PodEdit::Containers::kNormalAndInit});
    }
  }
  return variables;
}

absl::Status SvcPlugin::OnPod(PodEdit& pod) const {
  const JobView& job = pod.job();
  if (FindString(pod.spec(), "hostname").empty()) pod.spec()["hostname"] = pod.PodName();
  if (FindString(pod.spec(), "subdomain").empty()) pod.spec()["subdomain"] = job.name;
  if (inject_hosts_env_) {
    std::vector<json::object> variables;
    for (const PodVariable& variable : Variables(job)) variables.push_back(FromConfigMap(job, variable.name));
    pod.AddEnv(PodEdit::Containers::kNormalAndInit, variables);
  }
  const std::string volume = ConfigMapName(job);
  pod.AddVolume({{"name", volume}, {"configMap", {{"name", volume}}}});
  pod.AddMount(PodEdit::Containers::kNormalAndInit, {{"name", volume}, {"mountPath", ToJson(kSvcMountPath)}});
  return absl::OkStatus();
}

}  // namespace basalt::jobsvc
