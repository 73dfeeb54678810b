#include "kubesim/actors/node/node_actor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/http/target.h"
#include "common/kube/text.h"
#include "kubesim/actors/client/text.h"

namespace basalt::actors {
namespace {

constexpr uint32_t kAddressesPerNode = 4094;
constexpr absl::Duration kRefusalWait = absl::Milliseconds(200);
constexpr absl::Duration kMostRefusalWait = absl::Seconds(10);

std::string PodTarget(std::string_view space, std::string_view name) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", http::Escape(space), http::Escape(name));
}

// Returns the address of the network 10/8 with these lower 24 bits.
std::string Address(uint32_t number) {
  return fmt::format("10.{}.{}.{}", (number >> 16) & 255, (number >> 8) & 255, number & 255);
}

}  // namespace

NodeActor::NodeActor(Loop& loop, http::Client& client, Random& random, Informer& pods, NodeActorOptions options)
    : loop_(loop), options_(std::move(options)), api_(loop, client, random, options_.api) {
  for (int i = 0; i < options_.nodes; ++i) {
    Node node;
    node.index = i;
    node.name = fmt::format("{}{}", options_.prefix, i);
    node.ip = fmt::format("192.168.{}.{}", i / 250, i % 250 + 1);
    nodes_.emplace(node.name, std::move(node));
  }
  pods.Listen(*this);
}

NodeActor::~NodeActor() {
  for (const auto& [key, pod] : pods_) {
    if (pod.timer != kNoTimer) loop_.Cancel(pod.timer);
  }
}

std::vector<std::string> NodeActor::names() const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return names;
}

void NodeActor::Start() {
  for (auto& [name, node] : nodes_) Register(node);
}

void NodeActor::Register(Node& node) {
  json::object labels{
      {"kubernetes.io/hostname", Text(node.name)}, {"kubernetes.io/os", "linux"}, {"kubernetes.io/arch", "amd64"}};
  for (const auto& [key, value] : options_.labels) labels[key] = Text(value);
  const json::object body{{"apiVersion", "v1"},
                          {"kind", "Node"},
                          {"metadata", json::object{{"name", Text(node.name)}, {"labels", std::move(labels)}}},
                          {"spec", json::object()}};
  ApiRequest request{"POST", "/api/v1/nodes", json::serialize(body)};
  api_.Do(std::move(request), [this, &node](const ApiAnswer&) { WriteNodeStatus(node); });
}

void NodeActor::WriteNodeStatus(Node& node) {
  const json::object resources{
      {"cpu", Text(options_.cpu)}, {"memory", Text(options_.memory)}, {"pods", Text(options_.pods)}};
  const auto condition = [&](std::string_view type, std::string_view status, std::string_view reason,
                             std::string_view message) {
    return json::object{{"type", Text(type)},
                        {"status", Text(status)},
                        {"reason", Text(reason)},
                        {"message", Text(message)},
                        {"lastHeartbeatTime", Text(loop_.Now())},
                        {"lastTransitionTime", Text(loop_.Now())}};
  };
  json::array conditions{
      condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
      condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
      condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
      node.lost ? condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
                : condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")};
  const json::object info{{"architecture", "amd64"},
                          {"operatingSystem", "linux"},
                          {"osImage", "kubesim"},
                          {"kernelVersion", "0.0"},
                          {"kubeletVersion", "v1.32.0-kubesim"},
                          {"kubeProxyVersion", "v1.32.0-kubesim"},
                          {"containerRuntimeVersion", "kubesim://1"},
                          {"machineID", ""},
                          {"systemUUID", ""},
                          {"bootID", ""}};
  const json::array addresses{json::object{{"type", "InternalIP"}, {"address", Text(node.ip)}},
                              json::object{{"type", "Hostname"}, {"address", Text(node.name)}}};
  const json::object body{{"status", json::object{{"capacity", resources},
                                                  {"allocatable", resources},
                                                  {"conditions", std::move(conditions)},
                                                  {"addresses", addresses},
                                                  {"nodeInfo", info}}}};
  api_.Do(
      {"PATCH", fmt::format("/api/v1/nodes/{}/status", node.name), json::serialize(body), kStrategicPatchType, true},
      nullptr);
}

void NodeActor::LoseNode(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || std::exchange(found->second.lost, true)) return;
  WriteNodeStatus(found->second);
}

void NodeActor::RestoreNode(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || !std::exchange(found->second.lost, false)) return;
  WriteNodeStatus(found->second);
  std::vector<std::string> keys;
  for (const auto& [key, pod] : pods_) {
    if (pod.node == &found->second) keys.push_back(key);
  }
  for (const std::string& key : keys) Flush(key);
}

bool NodeActor::DisruptPod(const std::string& key, const std::string& reason) {
  const auto found = pods_.find(key);
  if (found == pods_.end()) return false;
  found->second.run->Advance(loop_.Now());
  const bool is_done = found->second.run->Disrupt(loop_.Now(), reason);
  Tick(key);
  return is_done;
}

bool NodeActor::EvictPod(const std::string& key) {
  const auto found = pods_.find(key);
  if (found == pods_.end()) return false;
  found->second.run->Advance(loop_.Now());
  const bool is_done = found->second.run->Evict(loop_.Now());
  Tick(key);
  return is_done;
}

void NodeActor::OnObject(const json::value& object) {
  const json::value* spec = Find(object, "spec");
  const auto node = spec == nullptr ? nodes_.end() : nodes_.find(std::string(FindString(*spec, "nodeName")));
  if (node == nodes_.end()) return;
  const json::value& metadata = *Find(object, "metadata");
  const std::string key = fmt::format("{}/{}", FindString(metadata, "namespace"), FindString(metadata, "name"));
  Pod& pod = pods_[key];
  if (pod.run == nullptr) {
    pod.space = FindString(metadata, "namespace");
    pod.name = FindString(metadata, "name");
    pod.uid = FindString(metadata, "uid");
    pod.node = &node->second;
    PodDefaults defaults;
    defaults.plan = {options_.default_duration, options_.default_exit_code};
    defaults.host_ip = pod.node->ip;
    if (const auto ahead = options_.clocks_ahead.find(pod.node->name); ahead != options_.clocks_ahead.end()) {
      defaults.clock_ahead = ahead->second;
    }
    const uint32_t address = 1 + pod.node->addresses++ % kAddressesPerNode;
    defaults.pod_ip = Address(static_cast<uint32_t>(pod.node->index) * 4096 + address);
    pod.run = std::make_unique<PodRun>(object, defaults, loop_.Now() + options_.start_delay);
    if (options_.start_delay > absl::ZeroDuration() && !pod.run->removable()) {
      Arm(key, pod, loop_.Now() + options_.start_delay);
      return;
    }
  } else {
    pod.run->Observe(object);
  }
  Tick(key);
}

void NodeActor::OnGone(const ObjectName& gone) {
  const auto found = pods_.find(gone.space + "/" + gone.name);
  if (found == pods_.end() || found->second.uid != gone.uid) return;
  if (found->second.timer != kNoTimer) loop_.Cancel(found->second.timer);
  pods_.erase(found);
}

void NodeActor::Arm(const std::string& key, Pod& pod, absl::Time when) {
  if (pod.timer != kNoTimer) loop_.Cancel(std::exchange(pod.timer, kNoTimer));
  if (when == absl::InfiniteFuture()) return;
  pod.timer = loop_.RunAt(when, [this, key] {
    pods_.at(key).timer = kNoTimer;
    Tick(key);
  });
}

void NodeActor::Tick(const std::string& key) {
  Pod& pod = pods_.at(key);
  const absl::Time next = pod.run->Advance(loop_.Now());
  if (pod.run->TakeChanged()) pod.dirty = true;
  Arm(key, pod, next);
  Flush(key);
}

void NodeActor::Flush(const std::string& key) {
  Pod& pod = pods_.at(key);
  if (pod.writing || pod.removing || pod.node->lost) return;
  if (pod.dirty) return WriteStatus(key, pod);
  if (pod.run->removable()) Remove(key, pod);
}

NodeActor::Pod* NodeActor::Current(const std::string& key, const std::string& uid) {
  const auto found = pods_.find(key);
  return found == pods_.end() || found->second.uid != uid ? nullptr : &found->second;
}

void NodeActor::WriteStatus(const std::string& key, Pod& pod) {
  pod.dirty = false;
  pod.writing = true;
  const json::object body{{"metadata", json::object{{"uid", Text(pod.uid)}}}, {"status", pod.run->Status()}};
  api_.Do({"PATCH", PodTarget(pod.space, pod.name) + "/status", json::serialize(body), kStrategicPatchType},
          [this, key, uid = pod.uid](const ApiAnswer& answer) {
            Pod* current = Current(key, uid);
            if (current == nullptr) return;
            current->writing = false;
            if (answer.ok()) {
              current->refusals = 0;
              return Flush(key);
            }
            // The pod may be gone, or another one may have its name. Then the watch will show that. Until then the
            // refusal may have been an injected fault, so try again.
            current->dirty = true;
            TryAgain(key, *current);
          });
}

void NodeActor::Remove(const std::string& key, Pod& pod) {
  pod.removing = true;
  const json::object body{{"apiVersion", "v1"},
                          {"kind", "DeleteOptions"},
                          {"gracePeriodSeconds", 0},
                          {"preconditions", json::object{{"uid", Text(pod.uid)}}}};
  api_.Do({"DELETE", PodTarget(pod.space, pod.name), json::serialize(body)},
          [this, key, uid = pod.uid](const ApiAnswer& answer) {
            Pod* current = Current(key, uid);
            if (current == nullptr || answer.ok() || answer.status == 404) return;
            current->removing = false;
            TryAgain(key, *current);
          });
}

void NodeActor::TryAgain(const std::string& key, Pod& pod) {
  const absl::Duration wait = std::min(kRefusalWait * (1 << std::min(pod.refusals++, 10)), kMostRefusalWait);
  const absl::Time next = std::min(pod.run->Advance(loop_.Now()), loop_.Now() + wait);
  if (pod.run->TakeChanged()) pod.dirty = true;
  Arm(key, pod, next);
}

}  // namespace basalt::actors
