#include "gateway/access/permissions.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "common/base/excerpt.h"
#include "common/base/slots.h"
#include "common/kube/event.h"
#include "common/kube/group_profile.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "gateway/access/asked.h"
#include "gateway/access/job_objects.h"
#include "gateway/route/owner_watch.h"

namespace basalt::gateway {
namespace {

using Service = v1::ServiceKind;
constexpr Service kJob = v1::SERVICE_KIND_JOB;
constexpr Service kGroup = v1::SERVICE_KIND_POD_GROUP;
constexpr Service kQueue = v1::SERVICE_KIND_QUEUE;

constexpr std::string_view kJobsServices[] = {"", "-head-svc"};
constexpr std::string_view kJobsConfigMap[] = {"-svc"};
constexpr std::string_view kJobsSecret[] = {"-ssh"};
constexpr std::string_view kJobsPolicy[] = {""};

// The rows follow the requests of services/jobsvc/control and api, services/pgsvc/control and
// services/queuesvc/control.
constexpr AccessRow kRows[] = {
    {kJob, kube::kJobs, kGet | kCreate | kPatch | kDelete, AccessRule::kIsKey, {}, true},
    {kJob, kube::kPods, kGet | kCreate | kPatch | kDelete | kDeleteCollection, AccessRule::kJobsPod},
    {kJob, kube::kCommands, kCreate | kDelete, AccessRule::kJobsCommand},
    {kJob, kube::kEvents, kGet | kCreate | kPatch, AccessRule::kJobsEvent},
    {kJob, kube::kPersistentVolumeClaims, kGet | kCreate, AccessRule::kJobsClaim},
    {kJob, kube::kServices, kGet | kCreate | kDelete, AccessRule::kNamedAfterJob, kJobsServices},
    {kJob, kube::kConfigMaps, kGet | kCreate | kPatch | kDelete, AccessRule::kNamedAfterJob, kJobsConfigMap},
    {kJob, kube::kSecrets, kGet | kCreate | kPatch | kDelete, AccessRule::kNamedAfterJob, kJobsSecret},
    {kJob, kube::kNetworkPolicies, kGet | kCreate | kDelete, AccessRule::kNamedAfterJob, kJobsPolicy},
    {kGroup, kube::kPodGroups, kGet | kCreate | kPatch | kDelete, AccessRule::kIsGroup},
    {kGroup, kube::kKaiPodGroups, kGet | kCreate | kPatch | kDelete, AccessRule::kInNamespace},
    {kGroup, kube::kPods, kPatch, AccessRule::kGroupsPod},
    {kGroup, kube::kEvents, kGet | kCreate | kPatch, AccessRule::kPodsEvent},
    {kGroup, kube::kReplicaSets, kGet, AccessRule::kPodsOwner},
    {kGroup, kube::kDaemonSets, kGet, AccessRule::kPodsOwner},
    {kGroup, kube::kStatefulSets, kGet, AccessRule::kPodsOwner},
    {kGroup, kube::kBatchJobs, kGet, AccessRule::kPodsOwner},
    {kQueue, kube::kQueues, kGet | kCreate | kPatch | kDelete, AccessRule::kIsKey, {}, true},
    {kQueue, kube::kCommands, kCreate | kDelete, AccessRule::kQueuesCommand},
    {kQueue, kube::kEvents, kGet | kCreate | kPatch, AccessRule::kQueuesEvent},
};

// The cache keeps owner references of pods only, so the owner is searched among those of the key's pods.
Permission CheckOwnerOfPods(const Ask& ask, std::string_view kind, const Cache& cache) {
  const std::string group = fmt::format("{}/", ask.resource.group());
  for (const ObjectId id : cache.Members(kGroup, ask.owner.slot())) {
    if (cache.RoutingKeyOf(id, kGroup) != ask.owner.key()) continue;
    const kube::v1::Object object = cache.Read(id);
    for (const kube::v1::OwnerReference& owner : object.pod().grouping().owner_references()) {
      if (owner.kind() == kind && owner.name() == ask.name && owner.api_version().starts_with(group)) return {};
    }
  }
  return NotKnown(ask);
}

// A pod whose name is cut off in the name of its Event cannot be looked up by that name.
Permission CheckEventOfPod(const Ask& ask, const Cache& cache) {
  const std::string_view name = SubjectOf(ask.name);
  const Routed routed = RoutedTo(ask, "pods/", cache.UidOf("pods/", ask.ns, name), cache);
  if (routed == Routed::kHere) return {};
  if (name.size() >= kUncutName) {
    for (const ObjectId id : cache.Members(kGroup, ask.owner.slot())) {
      if (cache.RoutingKeyOf(id, kGroup) != ask.owner.key()) continue;
      if (cache.Read(id).pod().name().starts_with(name)) return {};
    }
  }
  return routed == Routed::kNowhere ? NotKnown(ask) : Elsewhere(ask);
}

// Kartas have no namespace. Every key that groups pods by the rules of all kinds may have Events about them.
bool IsEventOfKarta(const Ask& ask, const Cache& cache) {
  return kube::ProfileOf(ask.owner.key()) != kube::GroupProfile::kCompat && ask.ns == kube::kClusterEventsNamespace &&
         !cache.UidOf(kube::kWatchKartas, /*ns=*/"", SubjectOf(ask.name)).empty();
}

Permission CheckGroup(const Ask& ask, const Cache& cache) {
  if (kube::ProfileOf(ask.owner.key()) != kube::GroupProfile::kRich) {
    return kube::ObjectKey(ask.ns, ask.name) == ask.owner.key() ? Permission() : NotOfThatKey(ask);
  }
  if (!cache.routes().is_rich || ask.ns != kube::NamespaceOf(ask.owner.key())) return NotOfThatKey(ask);
  if (ask.verb == kCreate) return {};
  return CheckRouted(ask, kube::kWatchPodGroups, /*named=*/ask.verb == kGet, cache);
}

Permission CheckObject(const Ask& ask, const AccessRow& row, const Known& known) {
  const Cache& cache = known.cache;
  const std::string_view key = ask.owner.key();
  if (row.rule == AccessRule::kIsKey)
    return kube::ObjectKey(ask.ns, ask.name) == key ? Permission() : NotOfThatKey(ask);
  if (row.rule == AccessRule::kIsGroup) return CheckGroup(ask, cache);
  if (row.rule == AccessRule::kInNamespace) return ask.ns == key ? Permission() : NotOfThatKey(ask);
  if (row.rule == AccessRule::kQueuesCommand && ask.verb == kCreate) return {};
  if (row.rule == AccessRule::kQueuesCommand) return CheckRouted(ask, kube::kWatchCommands, /*named=*/false, cache);
  if (row.rule == AccessRule::kQueuesEvent) {
    const bool is_about = ask.ns == kube::kClusterEventsNamespace && IsEventAbout(key, ask.name);
    return is_about ? Permission() : NotOfThatKey(ask);
  }
  if (row.rule == AccessRule::kPodsEvent && IsEventOfKarta(ask, cache)) return {};
  const bool is_of_namespace = key.find('/') == std::string_view::npos;
  const auto [key_ns, key_name] = is_of_namespace ? kube::KeyParts{key, {}} : kube::SplitKey(key);
  if (ask.ns.empty() || ask.ns != key_ns) return NotOfThatKey(ask);
  switch (row.rule) {
    case AccessRule::kIsKey:
    case AccessRule::kInNamespace:
    case AccessRule::kIsGroup:
    case AccessRule::kQueuesCommand:
    case AccessRule::kQueuesEvent:
      break;
    case AccessRule::kJobsPod:
    case AccessRule::kJobsCommand:
    case AccessRule::kJobsClaim:
    case AccessRule::kNamedAfterJob:
    case AccessRule::kJobsEvent:
      return CheckOfJob(ask, row, known);
    case AccessRule::kGroupsPod:
      return CheckRouted(ask, "pods/", /*named=*/false, cache);
    case AccessRule::kPodsEvent:
      return CheckEventOfPod(ask, cache);
    case AccessRule::kPodsOwner:
      return CheckOwnerOfPods(ask, row.kind.name, cache);
  }
  return NotOfThatKey(ask);
}

// Pods and groups change their keys while they live: by their owners, their annotations or their jobs.
bool MayHaveMoved(const Ask& ask, const AccessRow& row, const Permission& refused, const Known& known) {
  if (refused.is_elsewhere && row.service == kGroup && known.now < known.stream_began + AccessMemory::kMovedFor)
    return true;
  const std::string uid = row.rule == AccessRule::kPodsEvent ? known.cache.UidOf("pods/", ask.ns, SubjectOf(ask.name))
                                                             : std::string(ask.uid);
  return known.memory.WasOf(uid, ask.owner.key(), known.now);
}

Permission HasMoved(const Ask& ask) {
  return Refuse(RefusalReason::kMoved, absl::StatusCode::kAborted,
                fmt::format("{} '{}' is not of '{}' any more", What(ask),
                            CutUtf8(kube::ObjectKey(ask.ns, ask.name), 320), CutUtf8(ask.owner.key(), 320)));
}

// Queues have no namespace: their Commands and Events may be in any.
std::string WhyNotThere(const Ask& ask, const kube::NamespaceRules& rules) {
  if (ask.owner.member().service() == kQueue) return {};
  const std::string_view key = ask.owner.key();
  return rules.WhyNot(key.substr(0, key.find('/')));
}

Permission Check(const Ask& ask, const Known& known) {
  const Service service = ask.owner.member().service();
  if (SlotOf(ask.owner.key()) != ask.owner.slot()) {
    return Refuse(RefusalReason::kKey, absl::StatusCode::kPermissionDenied,
                  fmt::format("key '{}' is of slot {}, not of slot {}, which is named", CutUtf8(ask.owner.key(), 320),
                              SlotOf(ask.owner.key()), ask.owner.slot()));
  }
  if (const std::string why = WhyNotThere(ask, known.namespaces); !why.empty()) {
    return Refuse(RefusalReason::kNamespace, absl::StatusCode::kPermissionDenied, why);
  }
  for (const AccessRow& row : kRows) {
    if (row.service != service || !row.kind.Is(ask.resource.group(), ask.resource.plural())) continue;
    if (ask.resource.version() != row.kind.version) {
      return Refuse(RefusalReason::kKind, absl::StatusCode::kPermissionDenied,
                    fmt::format("resource.version of {} is '{}', and has to be '{}'", What(ask),
                                CutUtf8(ask.resource.version(), 63), row.kind.version));
    }
    const bool status = row.has_status && ask.subresource == "status" && ask.verb == kPatch;
    if ((row.verbs & ask.verb) == 0 || (!ask.subresource.empty() && !status)) break;
    Permission permission = CheckObject(ask, row, known);
    if (permission.refusal != RefusalReason::kObject) return permission;
    return MayHaveMoved(ask, row, permission, known) ? HasMoved(ask) : permission;
  }
  return Refuse(RefusalReason::kKind, absl::StatusCode::kPermissionDenied,
                fmt::format("{} does not need '{}' of {}", v1::ServiceKind_Name(service), ask.verb_name, What(ask)));
}

}  // namespace

std::string_view NameOf(RefusalReason refusal) {
  switch (refusal) {
    case RefusalReason::kNone:
      return "none";
    case RefusalReason::kKey:
      return "key";
    case RefusalReason::kNamespace:
      return "namespace";
    case RefusalReason::kKind:
      return "kind";
    case RefusalReason::kObject:
      return "object";
    case RefusalReason::kMoved:
      return "moved_object";
    case RefusalReason::kUnknown:
      return "unknown_object";
  }
  return "none";
}

namespace {

Ask AskOf(const v1::WriteRequest& request) {
  Ask ask{.owner = request.owner(),
          .resource = request.resource(),
          .subresource = request.subresource(),
          .verb = 0,
          .verb_name = "nothing",
          .ns = request.namespace_(),
          .name = request.name()};
  switch (request.operation_case()) {
    case v1::WriteRequest::kCreate:
      ask.verb = kCreate;
      ask.verb_name = "create";
      break;
    case v1::WriteRequest::kPatch:
      ask.verb = kPatch;
      ask.verb_name = "patch";
      ask.uid = request.patch().uid();
      break;
    case v1::WriteRequest::kDelete:
      ask.verb = kDelete;
      ask.verb_name = "delete";
      ask.uid = request.delete_().uid();
      break;
    case v1::WriteRequest::kDeleteCollection:
      ask.verb = kDeleteCollection;
      ask.verb_name = "deletecollection";
      ask.label_selector = request.delete_collection().label_selector();
      break;
    case v1::WriteRequest::OPERATION_NOT_SET:
      break;
  }
  return ask;
}

}  // namespace

Permission CheckWrite(const v1::WriteRequest& request, const Known& known) { return Check(AskOf(request), known); }

Permission CheckFound(const v1::WriteRequest& request, const kube::v1::Object& found, const Known& known) {
  return OwningJob(request.owner(), found, known).empty() ? NotOfThatKey(AskOf(request)) : Permission();
}

Permission CheckGet(const v1::GetRequest& request, const Known& known) {
  return Check({.owner = request.owner(),
                .resource = request.resource(),
                .subresource = {},
                .verb = kGet,
                .verb_name = "get",
                .ns = request.namespace_(),
                .name = request.name()},
               known);
}

std::vector<Grant> Grants() {
  constexpr std::pair<uint8_t, std::string_view> kVerbs[] = {{kGet, "get"},
                                                             {kCreate, "create"},
                                                             {kPatch, "patch"},
                                                             {kDelete, "delete"},
                                                             {kDeleteCollection, "deletecollection"}};
  std::vector<Grant> grants;
  for (const AccessRow& row : kRows) {
    for (const auto& [verb, name] : kVerbs) {
      if ((row.verbs & verb) != 0) grants.push_back({row.kind, std::string(row.kind.plural), std::string(name)});
    }
    if (row.has_status) grants.push_back({row.kind, fmt::format("{}/status", row.kind.plural), "patch"});
  }
  return grants;
}

Permission CheckInterest(v1::ServiceKind service, std::string_view watch) {
  if (service == kJob && watch == kube::kPersistentVolumeClaims.plural) return {};
  // A pod may name anything as its owner. A kind that cannot be observed gets an answer later; it must not end the
  // stream.
  if (service == kGroup && IsOwnerWatch(watch)) return {};
  return Refuse(
      RefusalReason::kKind, absl::StatusCode::kPermissionDenied,
      fmt::format("{} does not need to watch '{}' by interest", v1::ServiceKind_Name(service), CutUtf8(watch, 127)));
}

}  // namespace basalt::gateway
