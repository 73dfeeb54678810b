// Checks the pods of plain workloads: each is in the group of its owner, and the group follows the owner and its pods.
#include <fmt/format.h>

#include <map>
#include <string>

#include "common/kube/names.h"
#include "kubesim/actors/workloads/child.h"
#include "tests/e2e/writer.h"
#include "tests/simulation/judge/judge.h"
#include "tests/simulation/plain_workloads.h"

namespace basalt::simulation {
namespace {

using ObjectPtr = std::shared_ptr<const json::value>;

constexpr std::string_view kOwnedPrefix = "podgroup-";
constexpr std::string_view kRichPrefix = "pg-";

struct OwnerKind {
  std::string_view kind;
  std::string_view resource;
};
constexpr OwnerKind kOwners[] = {
    {"ReplicaSet", "replicasets.apps"}, {"StatefulSet", "statefulsets.apps"}, {"Job", "jobs.batch"}, {"Pod", "pods"}};

std::string TextAt(const json::value& object, std::initializer_list<std::string_view> path) {
  const json::value* const found = FindPath(object, path);
  if (found == nullptr) return "";
  return found->is_string() ? std::string(found->get_string()) : ToText(*found);
}

// Returns null if the owner is gone, even if another object has its name.
ObjectPtr OwnerOf(const kubesim::ApiServer& api, const json::value& object) {
  const json::value* const owners = FindPath(object, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return nullptr;
  for (const json::value& owner : owners->get_array()) {
    for (const OwnerKind& kind : kOwners) {
      if (FindString(owner, "kind") != kind.kind ||
          FindString(owner, "apiVersion").find("volcano") != std::string::npos) {
        continue;
      }
      ObjectPtr found = api.Get(kind.resource, "default", FindString(owner, "name"));
      if (found != nullptr && actors::MetaText(*found, "uid") == FindString(owner, "uid")) return found;
    }
  }
  return nullptr;
}

class WorkloadChecker {
 public:
  // `is_rich`: the rules of all kinds group the pods of Volcano's scheduler, too.
  WorkloadChecker(const kubesim::ApiServer& api, bool is_rich, std::vector<std::string>& violations)
      : api_(api), is_rich_(is_rich), violations_(violations) {}

  void Check() {
    for (const std::string_view plural : {"replicasets", "statefulsets"}) {
      for (const ObjectPtr& object : ObjectsEverMade(api_, plural, "apps")) {
        owners_[std::string(actors::MetaText(*object, "uid"))].object = object;
      }
    }
    for (const ObjectPtr& object : ObjectsEverMade(api_, "deployments", "apps")) CheckDeployment(*object);
    for (const ObjectPtr& pod : ObjectsEverMade(api_, "pods", "")) CheckPod(*pod);
    for (const auto& [uid, owner] : owners_) CheckOwner(uid, owner);
    for (const ObjectPtr& group : ObjectsEverMade(api_, "podgroups", "scheduling.volcano.sh")) CheckGroup(*group);
    for (const ObjectPtr& group : ObjectsEverMade(api_, "podgroups", "scheduling.run.ai")) {
      const std::string name(actors::MetaText(*group, "name"));
      if (OwnerOf(api_, *group) == nullptr && !IsUsed(name))
        Complain(fmt::format("{} is left without its owner", name));
    }
  }

 private:
  struct Owner {
    ObjectPtr object;
    std::string cpu;  // The CPU request of one of its pods.
    int64_t active = 0, healthy = 0;
    bool is_by_rules = false;  // The rules of all kinds group its pods.
  };

  void Complain(std::string what) { violations_.push_back(std::move(what)); }

  void CheckPod(const json::value& object) {
    const actors::Child pod = actors::PodChild(object);
    const auto controller = actors::ControllerOf(object);
    if (!pod.IsActive()) return;
    if (!controller) return CheckLeftPod(object);
    if (controller->api_version.find("volcano") != std::string::npos) return;
    const ObjectPtr found = OwnerOf(api_, object);
    if (found == nullptr) return Complain(fmt::format("pod {} is left of {}", pod.name, controller->uid));
    Owner& owner = owners_[std::string(controller->uid)];
    owner.object = found;
    ++owner.active;
    if (pod.is_ready) ++owner.healthy;
    owner.cpu = CpuOf(object);
    owner.is_by_rules = is_rich_ || IsForKai(object);
    const std::string wanted =
        owner.is_by_rules ? GroupByRules(object, *found) : fmt::format("{}{}", kOwnedPrefix, controller->uid);
    const std::string_view named = GroupNamedBy(object);
    if (named != wanted) Complain(fmt::format("pod {} is in group '{}', not {}", pod.name, named, wanted));
    if (IsForKai(object)) {
      CheckKaiGroup(wanted, TopOf(*found));
    } else if (is_rich_) {
      CheckRichGroup(wanted, TopOf(*found));
    }
  }

  // Checks a pod whose owner was deleted without the pod: the group that the pod names must exist.
  void CheckLeftPod(const json::value& pod) {
    const std::string_view named = GroupNamedBy(pod);
    const char* const groups = IsForKai(pod) ? "podgroups.scheduling.run.ai" : "podgroups.scheduling.volcano.sh";
    if (!named.empty() && api_.Get(groups, "default", named) != nullptr) return;
    Complain(fmt::format("pod {} was left by its owner and is in group '{}', which does not exist",
                         actors::MetaText(pod, "name"), named));
  }

  // Returns true if a live pod names the group.
  bool IsUsed(const std::string& group) const {
    for (const ObjectPtr& pod : ObjectsEverMade(api_, "pods", "")) {
      if (GroupNamedBy(*pod) == group && actors::PodChild(*pod).IsActive()) return true;
    }
    return false;
  }

  // Returns the Deployment that controls the object, or else the object itself.
  ObjectPtr TopOf(const json::value& object) const {
    const auto controller = actors::ControllerOf(object);
    for (const ObjectPtr& deployment : ObjectsEverMade(api_, "deployments", "apps")) {
      if (controller && controller->uid == actors::MetaText(*deployment, "uid")) return deployment;
    }
    return std::make_shared<const json::value>(object);
  }

  // Each pod of a Deployment has a group of its own; other pods share the group of their controller (pod-grouper 6).
  static std::string GroupByRules(const json::value& pod, const json::value& owner) {
    const json::value& named = actors::ControllerOf(owner) ? pod : owner;
    return fmt::format("pg-{}-{}", actors::MetaText(named, "name"), actors::MetaText(named, "uid"));
  }

  void CheckKaiGroup(const std::string& name, const ObjectPtr& top) {
    const ObjectPtr group = api_.Get("podgroups.scheduling.run.ai", "default", name);
    if (group == nullptr) return Complain(fmt::format("pods are in {}, which does not exist", name));
    const std::string spec = TextAt(*group, {"spec"});
    const bool is_of_deployment = FindString(*top, "kind") == "Deployment";
    const std::string wanted =
        fmt::format(R"({{"minMember":1,"queue":"default-queue","priorityClassName":"{}","topologyConstraint":{{}}}})",
                    is_of_deployment ? "inference" : "train");
    if (spec != wanted) Complain(fmt::format("{} is {}, not {}", name, spec, wanted));
    CheckTier(*group, *top);
  }

  void CheckTier(const json::value& group, const json::value& top) {
    if (TextAt(top, {"metadata", "annotations", "volcano.sh/tier"}) ==
        TextAt(group, {"metadata", "annotations", "volcano.sh/tier"})) {
      return;
    }
    Complain(fmt::format("{} has not the tier of {}", actors::MetaText(group, "name"), actors::MetaText(top, "name")));
  }

  void CheckRichGroup(const std::string& name, const ObjectPtr& top) {
    const ObjectPtr group = api_.Get("podgroups.scheduling.volcano.sh", "default", name);
    if (group == nullptr) return Complain(fmt::format("pods are in {}, which does not exist", name));
    if (TextAt(*group, {"spec", "minMember"}) != "1") Complain(fmt::format("{} has not minMember 1", name));
    const auto members = MembersOf(name);
    const std::string cpu = members.empty() ? "" : CpuOf(*members.begin()->second);
    if (TextAt(*group, {"spec", "minResources", "cpu"}) != cpu) {
      Complain(fmt::format("{} has cpu {}, not {}", name, TextAt(*group, {"spec", "minResources", "cpu"}), cpu));
    }
    CheckTier(*group, *top);
  }

  // Returns the pods of Volcano's scheduler that name the group, by name.
  std::map<std::string, ObjectPtr> MembersOf(const std::string& group) const {
    std::map<std::string, ObjectPtr> members;
    for (const ObjectPtr& pod : ObjectsEverMade(api_, "pods", "")) {
      if (!IsForKai(*pod) && GroupNamedBy(*pod) == group) members[std::string(actors::MetaText(*pod, "name"))] = pod;
    }
    return members;
  }

  static std::string CpuOf(const json::value& pod) {
    return TextAt(FindPath(pod, {"spec", "containers"})->at(0), {"resources", "requests", "cpu"});
  }

  // Checks that the Deployment's ReplicaSets want as many pods as the Deployment.
  void CheckDeployment(const json::value& deployment) {
    int64_t replicas = 0;
    for (const auto& [uid, owner] : owners_) {
      const auto controller = actors::ControllerOf(*owner.object);
      if (controller && controller->uid == actors::MetaText(deployment, "uid")) {
        replicas += FindInt(*Find(*owner.object, "spec"), "replicas");
      }
    }
    const int64_t wanted = FindInt(*Find(deployment, "spec"), "replicas");
    if (replicas != wanted) {
      Complain(fmt::format("the ReplicaSets of {} want {} pods, not {}", actors::MetaText(deployment, "name"), replicas,
                           wanted));
    }
  }

  void CheckOwner(const std::string& uid, const Owner& owner) {
    const std::string name(actors::MetaText(*owner.object, "name"));
    const json::value* const spec = Find(*owner.object, "spec");
    const bool has_replicas = Find(*spec, "replicas") != nullptr;
    if (has_replicas && FindInt(*spec, "replicas") != owner.active) {
      Complain(fmt::format("{} has {} pods, not {}", name, owner.active, FindInt(*spec, "replicas")));
    }
    if (owner.active == 0) return;
    if (owner.healthy != owner.active) {
      Complain(fmt::format("{} of {} pods of {} run", owner.healthy, owner.active, name));
    }
    if (owner.is_by_rules) return;
    const ObjectPtr group =
        api_.Get("podgroups.scheduling.volcano.sh", "default", fmt::format("{}{}", kOwnedPrefix, uid));
    if (group == nullptr) return Complain(fmt::format("{} has pods and no group", name));
    const json::value* const annotations = FindPath(*owner.object, {"metadata", "annotations"});
    std::string minimum(annotations == nullptr ? "" : FindString(*annotations, kube::kGroupMinMemberKey));
    if (minimum.empty()) minimum = "1";
    if (TextAt(*group, {"spec", "minMember"}) != minimum) {
      Complain(fmt::format("the group of {} has minMember {}, not {}", name, TextAt(*group, {"spec", "minMember"}),
                           minimum));
    }
    const std::string cpu = fmt::format("{}00m", (owner.cpu[0] - '0') * (minimum[0] - '0'));
    if (TextAt(*group, {"spec", "minResources", "cpu"}) != cpu) {
      Complain(fmt::format("the group of {} has cpu {}, not {}", name, TextAt(*group, {"spec", "minResources", "cpu"}),
                           cpu));
    }
    if (annotations != nullptr &&
        TextAt(*annotations, {"volcano.sh/tier"}) != TextAt(*group, {"metadata", "annotations", "volcano.sh/tier"})) {
      Complain(fmt::format("the group of {} has not the tier of its owner", name));
    }
  }

  // Checks that no group is left whose owner is gone or wants no pods.
  void CheckGroup(const json::value& group) {
    const std::string name(actors::MetaText(group, "name"));
    const bool is_rich = name.starts_with(kRichPrefix);
    if (!is_rich && !name.starts_with(kOwnedPrefix)) return;
    if (is_rich && MembersOf(name).empty()) return Complain(fmt::format("{} is left without pods", name));
    const ObjectPtr owner = OwnerOf(api_, group);
    if (owner == nullptr && IsUsed(name)) return;
    if (owner == nullptr) return Complain(fmt::format("{} is left without its owner", name));
    if (is_rich) return;
    const json::value* const spec = Find(*owner, "spec");
    const json::value* const suspend = Find(*spec, "suspend");
    const bool is_suspended = suspend != nullptr && *suspend == json::value(true) && !IsUsed(name);
    if (is_suspended || (Find(*spec, "replicas") != nullptr && FindInt(*spec, "replicas") == 0)) {
      Complain(fmt::format("{} is left of {}, which wants no pods", name, actors::MetaText(*owner, "name")));
    }
  }

  const kubesim::ApiServer& api_;
  const bool is_rich_;
  std::vector<std::string>& violations_;
  std::map<std::string, Owner> owners_;  // By UID.
};

bool IsOfKai(const kubesim::LoggedRequest& request) { return request.group == "scheduling.run.ai"; }

bool IsOfGroup(const kubesim::LoggedRequest& request) {
  return request.resource == "podgroups" &&
         (IsOfKai(request) || request.name.starts_with(kOwnedPrefix) || request.name.starts_with(kRichPrefix));
}

}  // namespace

void JudgeWorkloads(SimSuite& suite, std::vector<std::string>& violations) {
  WorkloadChecker(suite.api(), suite.options().is_rich, violations).Check();
}

void JudgeGroupWriters(SimSuite& suite, absl::Time quiet, std::vector<std::string>& violations, Probes& probes) {
  std::map<std::string, std::string> writers;  // The last writer of each group.
  for (const kubesim::LoggedRequest& request : suite.api().log()) {
    const std::optional<e2e::Writer> writer = e2e::WriterOf(request.user_agent);
    if (!writer || !writer->replica.starts_with("pgsvc")) continue;
    if (request.time > quiet && request.resource != "events") {
      violations.push_back(fmt::format("{} {}s {} {} though all is quiet", writer->replica, request.verb,
                                       request.resource, request.name));
    }
    if (!IsOfGroup(request) || !Succeeded(request)) continue;
    const bool is_rich = !IsOfKai(request) && request.name.starts_with(kRichPrefix);
    const std::string of = IsOfKai(request) ? "group of KAI's" : is_rich ? "rich group" : "group of a workload";
    if (request.verb == "create") probes.Hit(of + " made");
    if (request.verb == "patch") probes.Hit(of + " updated");
    if (request.verb == "delete") probes.Hit(of + " deleted");
    std::string& last = writers[IsOfKai(request) ? "default" : request.name];
    if (!last.empty() && last != writer->replica) probes.Hit(of + " written by another replica than before");
    last = writer->replica;
  }
}

}  // namespace basalt::simulation
