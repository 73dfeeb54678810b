#include "gateway/access/permissions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "common/base/excerpt.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/event.h"
#include "common/kube/group_profile.h"
#include "common/kube/kinds.h"
#include "common/kube/label_selector.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "gateway/route/object_ref.h"
#include "gateway/route/owner_watch.h"

namespace basalt::gateway {
namespace {

using Service = v1::ServiceKind;
constexpr Service kJob = v1::SERVICE_KIND_JOB;
constexpr Service kGroup = v1::SERVICE_KIND_POD_GROUP;
constexpr Service kQueue = v1::SERVICE_KIND_QUEUE;

constexpr uint8_t kGet = 1, kCreate = 2, kPatch = 4, kDelete = 8, kDeleteCollection = 16;

// How it is known that an object is the key's.
enum class Rule : uint8_t {
  kIsKey,          // It is what the key names.
  kJobsPod,        // Routed to the job and its own; not known to the cache: "<job>-…". A collection: by two labels.
  kJobsCommand,    // Routed to the job. What is created names it in its body.
  kJobsClaim,      // The job's spec names it, or "<job>-pvc-…".
  kNamedAfterJob,  // "<job><suffix>": what plugins make.
  kJobsEvent,      // "<job>.…", the name cut short where it is very long.
  kGroupsPod,      // Routed to the group.
  kPodsEvent,      // "<pod>.…", of a pod that is routed to the group; cut short in the same way. Or "<Karta>.…".
  kPodsOwner,      // A pod that is routed to the group has it as its owner.
  kInNamespace,    // The key is its namespace.
  kQueuesCommand,  // Routed to the queue. What is created names it in its body.
  kQueuesEvent,    // "<queue>.…", in the namespace of Events about objects of none; cut short in the same way.
  kIsGroup,        // The key names it; or is its namespace, and it is no job's: in the rich profile.
};

struct Row {
  Service service;
  kube::Kind kind;
  uint8_t verbs;
  Rule rule;
  std::span<const std::string_view> suffixes = {};  // Of kNamedAfterJob.
  bool has_status = false;                          // kPatch of the status, too.
};

constexpr std::string_view kJobsServices[] = {"", "-head-svc"};
constexpr std::string_view kJobsConfigMap[] = {"-svc"};
constexpr std::string_view kJobsSecret[] = {"-ssh"};
constexpr std::string_view kJobsPolicy[] = {""};

// From what the services ask for: services/jobsvc/control and api, services/pgsvc/control, services/queuesvc/control.
constexpr Row kRows[] = {
    {kJob, kube::kJobs, kGet | kCreate | kPatch | kDelete, Rule::kIsKey, {}, true},
    {kJob, kube::kPods, kGet | kCreate | kPatch | kDelete | kDeleteCollection, Rule::kJobsPod},
    {kJob, kube::kCommands, kCreate | kDelete, Rule::kJobsCommand},
    {kJob, kube::kEvents, kGet | kCreate | kPatch, Rule::kJobsEvent},
    {kJob, kube::kPersistentVolumeClaims, kGet | kCreate, Rule::kJobsClaim},
    {kJob, kube::kServices, kGet | kCreate | kDelete, Rule::kNamedAfterJob, kJobsServices},
    {kJob, kube::kConfigMaps, kGet | kCreate | kPatch | kDelete, Rule::kNamedAfterJob, kJobsConfigMap},
    {kJob, kube::kSecrets, kGet | kCreate | kPatch | kDelete, Rule::kNamedAfterJob, kJobsSecret},
    {kJob, kube::kNetworkPolicies, kGet | kCreate | kDelete, Rule::kNamedAfterJob, kJobsPolicy},
    {kGroup, kube::kPodGroups, kGet | kCreate | kPatch | kDelete, Rule::kIsGroup},
    {kGroup, kube::kKaiPodGroups, kGet | kCreate | kPatch, Rule::kInNamespace},
    {kGroup, kube::kPods, kPatch, Rule::kGroupsPod},
    {kGroup, kube::kEvents, kGet | kCreate | kPatch, Rule::kPodsEvent},
    {kGroup, kube::kReplicaSets, kGet, Rule::kPodsOwner},
    {kGroup, kube::kDaemonSets, kGet, Rule::kPodsOwner},
    {kGroup, kube::kStatefulSets, kGet, Rule::kPodsOwner},
    {kGroup, kube::kBatchJobs, kGet, Rule::kPodsOwner},
    {kQueue, kube::kQueues, kGet | kCreate | kPatch | kDelete, Rule::kIsKey, {}, true},
    {kQueue, kube::kCommands, kCreate | kDelete, Rule::kQueuesCommand},
    {kQueue, kube::kEvents, kGet | kCreate | kPatch, Rule::kQueuesEvent},
};

// The name of a job or a pod is cut off behind so much in that of its Event (common/kube/event.h), at the earliest:
// behind 236 characters, less the dashes in front of the cut, of which a label of 63 has 61 at most.
constexpr size_t kUncutName = 175;

// What a read and a write have alike.
struct Ask {
  const v1::Owner& owner;
  const v1::Resource& resource;
  std::string_view subresource;
  uint8_t verb;
  std::string_view verb_name;
  std::string_view ns;
  std::string_view name;
  std::string_view uid;  // Empty: by the name.
  std::string_view label_selector;
};

Permission Refuse(RefusalReason why, absl::StatusCode code, std::string_view message) {
  return {why, MakeStatus(code, message)};
}

std::string What(const Ask& ask) {
  std::string plural(CutUtf8(ask.resource.plural(), 63));
  if (!ask.subresource.empty()) plural += fmt::format("/{}", CutUtf8(ask.subresource, 63));
  if (!ask.resource.group().empty()) plural += fmt::format(".{}", CutUtf8(ask.resource.group(), 63));
  return plural;
}

Permission NotOfThatKey(const Ask& ask) {
  return Refuse(RefusalReason::kObject, absl::StatusCode::kPermissionDenied,
                fmt::format("{} '{}' is not of '{}', for which it is asked", What(ask),
                            CutUtf8(kube::ObjectKey(ask.ns, ask.name), 320), CutUtf8(ask.owner.key(), 320)));
}

// The jobs for which something may be done under the key.
struct Jobs {
  std::string uid;       // In the cache; empty: there is none.
  std::string gone_uid;  // Gone a moment ago.
  bool Has(std::string_view it) const { return !it.empty() && (it == uid || it == gone_uid); }
  bool empty() const { return uid.empty() && gone_uid.empty(); }
};

Jobs JobsOf(const v1::Owner& owner, const Known& known) {
  const auto [ns, name] = kube::SplitKey(owner.key());
  return {known.cache.UidOf(kube::kWatchJobs, ns, name), known.jobs.GoneUid(owner.key(), known.now)};
}

Permission NoJob(const Ask& ask) {
  return Refuse(RefusalReason::kUnknown, absl::StatusCode::kUnavailable,
                fmt::format("{} '{}': no job '{}' is known", What(ask), CutUtf8(kube::ObjectKey(ask.ns, ask.name), 320),
                            CutUtf8(ask.owner.key(), 320)));
}

Permission Unseen() {
  Permission permission;
  permission.is_unseen = true;
  return permission;
}

Permission NotKnown(const Ask& ask) {
  return Refuse(RefusalReason::kUnknown, absl::StatusCode::kUnavailable,
                fmt::format("whether {} '{}' is of '{}' is not known yet", What(ask),
                            CutUtf8(kube::ObjectKey(ask.ns, ask.name), 320), CutUtf8(ask.owner.key(), 320)));
}

bool BeginsWith(std::string_view name, std::string_view first, std::string_view second) {
  return name.size() > first.size() + second.size() && name.starts_with(first) &&
         name.substr(first.size()).starts_with(second);
}

enum class Routed { kHere, kElsewhere, kNowhere };

// Whether an object of such watches is routed to the key.
Routed RoutedTo(const Ask& ask, std::string_view watch_prefix, std::string_view uid, const Cache& cache) {
  const Service service = ask.owner.member().service();
  Routed routed = Routed::kNowhere;
  const std::vector<WatchInfo>& watches = cache.watches();
  for (size_t i = 0; i < watches.size() && !uid.empty(); ++i) {
    if (!watches[i].id.starts_with(watch_prefix)) continue;
    const ObjectId id = cache.Find(static_cast<WatchIndex>(i), uid);
    if (id == kNoObject) continue;
    if (cache.SlotOfId(id, service) != kNoSlot && cache.RoutingKeyOf(id, service) == ask.owner.key()) {
      return Routed::kHere;
    }
    routed = Routed::kElsewhere;
  }
  return routed;
}

// By the UID where one is given: the server compares it, too. Else by the name.
Permission CheckRouted(const Ask& ask, std::string_view watch_prefix, bool named, const Cache& cache) {
  const std::string uid = ask.uid.empty() ? cache.UidOf(watch_prefix, ask.ns, ask.name) : std::string(ask.uid);
  switch (RoutedTo(ask, watch_prefix, uid, cache)) {
    case Routed::kHere:
      return {};
    case Routed::kElsewhere:
      // What holds a name that the job needs may be looked at.
      return ask.verb == kGet && named ? Permission() : NotOfThatKey(ask);
    case Routed::kNowhere:
      return named ? Permission() : NotKnown(ask);
  }
  return NotKnown(ask);
}

Permission CheckClaim(const Ask& ask, const Cache& cache) {
  // A new one takes nothing from anybody, and its body names the job.
  if (ask.verb == kCreate) return {};
  const std::string_view job_name = kube::SplitKey(ask.owner.key()).name;
  if (BeginsWith(ask.name, job_name, "-pvc-")) return {};
  const std::string uid = cache.UidOf(kube::kWatchJobs, ask.ns, job_name);
  const std::vector<WatchInfo>& watches = cache.watches();
  for (size_t i = 0; i < watches.size() && !uid.empty(); ++i) {
    if (watches[i].id != kube::kWatchJobs) continue;
    const ObjectId id = cache.Find(static_cast<WatchIndex>(i), uid);
    if (id == kNoObject) continue;
    const kube::v1::Object job = cache.Read(id);
    const auto& volumes = job.job().spec().volumes();
    const bool names = std::any_of(volumes.begin(), volumes.end(), [&](const kube::v1::VolumeSpec& volume) {
      return volume.volume_claim_name() == ask.name;
    });
    return names ? Permission() : NotOfThatKey(ask);
  }
  return NotKnown(ask);
}

// Of pods that are known, as of no other object, it is kept who owns them.
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

// Whom an Event is about, as far as its own name says.
std::string_view SubjectOf(std::string_view event) { return event.substr(0, std::min(event.rfind('.'), event.size())); }

// Whether the Event is named after what has that name, which is cut off where it is very long.
bool IsEventAbout(std::string_view name, std::string_view event) {
  const std::string_view subject = SubjectOf(event);
  if (subject.size() == event.size()) return false;
  return subject == name || (subject.size() >= kUncutName && name.starts_with(subject));
}

Permission CheckCollection(const Ask& ask, const Jobs& jobs) {
  const std::string name = fmt::format("{}={}", kube::kJobNameKey, kube::SplitKey(ask.owner.key()).name);
  const std::string uid = fmt::format("{}=", kube::kJobUidKey);
  const std::vector<std::string_view> requirements = kube::SplitRequirements(ask.label_selector);
  const bool has_name = std::find(requirements.begin(), requirements.end(), name) != requirements.end();
  const bool has_uid = std::any_of(requirements.begin(), requirements.end(), [&](std::string_view requirement) {
    return requirement.starts_with(uid) && jobs.Has(requirement.substr(uid.size()));
  });
  return has_name && has_uid ? Permission() : NotOfThatKey(ask);
}

// Of the pods that watches show: who controls it.
std::string ControllerOf(std::string_view uid, const Cache& cache) {
  const std::vector<WatchInfo>& watches = cache.watches();
  for (size_t i = 0; i < watches.size() && !uid.empty(); ++i) {
    if (!watches[i].id.starts_with("pods/")) continue;
    const ObjectId id = cache.Find(static_cast<WatchIndex>(i), uid);
    if (id != kNoObject) return cache.Read(id).pod().owner_uid();
  }
  return {};
}

Permission CheckPodOfJob(const Ask& ask, bool named, const Jobs& jobs, const Known& known) {
  if (ask.verb == kDeleteCollection) return CheckCollection(ask, jobs);
  if (ask.verb == kCreate) return named ? Permission() : NotOfThatKey(ask);
  if (ask.verb == kGet) return CheckRouted(ask, "pods/", named, known.cache);
  const std::string uid = ask.uid.empty() ? known.cache.UidOf("pods/", ask.ns, ask.name) : std::string(ask.uid);
  switch (RoutedTo(ask, "pods/", uid, known.cache)) {
    case Routed::kHere:
      return jobs.Has(ControllerOf(uid, known.cache)) ? Permission() : NotOfThatKey(ask);
    case Routed::kElsewhere:
      return NotOfThatKey(ask);
    case Routed::kNowhere:
      return named ? Unseen() : NotKnown(ask);
  }
  return NotKnown(ask);
}

bool HasNameOf(const Ask& ask, std::string_view job, const Row& row) {
  return std::any_of(row.suffixes.begin(), row.suffixes.end(), [&ask, job](std::string_view suffix) {
    return ask.name.size() == job.size() + suffix.size() && ask.name.starts_with(job) && ask.name.ends_with(suffix);
  });
}

// No watch shows these.
Permission CheckNamedAfterJob(const Ask& ask, const Jobs& jobs, const JobMemory& memory) {
  if (ask.verb == kCreate || ask.verb == kGet) return {};
  return memory.IsOwned(ask.uid, jobs.uid) || memory.IsOwned(ask.uid, jobs.gone_uid) ? Permission() : Unseen();
}

Permission CheckOfJob(const Ask& ask, const Row& row, const Known& known) {
  // What asks for something that is not there is taken away as well.
  if (row.rule == Rule::kJobsCommand && ask.verb != kCreate) {
    return CheckRouted(ask, kube::kWatchCommands, /*named=*/false, known.cache);
  }
  const Jobs jobs = JobsOf(ask.owner, known);
  if (jobs.empty() || (ask.verb == kCreate && row.rule != Rule::kJobsEvent && jobs.uid.empty())) return NoJob(ask);
  const std::string_view job = kube::SplitKey(ask.owner.key()).name;
  Permission permission;
  switch (row.rule) {
    case Rule::kJobsPod:
      permission = CheckPodOfJob(ask, BeginsWith(ask.name, job, "-"), jobs, known);
      break;
    case Rule::kJobsCommand:
      break;
    case Rule::kJobsClaim:
      permission = CheckClaim(ask, known.cache);
      break;
    case Rule::kNamedAfterJob:
      permission = HasNameOf(ask, job, row) ? CheckNamedAfterJob(ask, jobs, known.jobs) : NotOfThatKey(ask);
      break;
    default:
      return IsEventAbout(job, ask.name) ? Permission() : NotOfThatKey(ask);
  }
  if (ask.verb == kCreate && permission.status.ok()) permission.job_uid = jobs.uid;
  return permission;
}

// A pod whose name is cut off in that of its Event cannot be looked up by it.
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
  return routed == Routed::kNowhere ? NotKnown(ask) : NotOfThatKey(ask);
}

// Kartas are of no namespace, and whoever groups pods of one by the rules of all kinds may tell of them.
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

Permission CheckObject(const Ask& ask, const Row& row, const Known& known) {
  const Cache& cache = known.cache;
  const std::string_view key = ask.owner.key();
  if (row.rule == Rule::kIsKey) return kube::ObjectKey(ask.ns, ask.name) == key ? Permission() : NotOfThatKey(ask);
  if (row.rule == Rule::kIsGroup) return CheckGroup(ask, cache);
  if (row.rule == Rule::kInNamespace) return ask.ns == key ? Permission() : NotOfThatKey(ask);
  if (row.rule == Rule::kQueuesCommand && ask.verb == kCreate) return {};
  if (row.rule == Rule::kQueuesCommand) return CheckRouted(ask, kube::kWatchCommands, /*named=*/false, cache);
  if (row.rule == Rule::kQueuesEvent) {
    const bool is_about = ask.ns == kube::kClusterEventsNamespace && IsEventAbout(key, ask.name);
    return is_about ? Permission() : NotOfThatKey(ask);
  }
  if (row.rule == Rule::kPodsEvent && IsEventOfKarta(ask, cache)) return {};
  const bool is_of_namespace = key.find('/') == std::string_view::npos;
  const auto [key_ns, key_name] = is_of_namespace ? kube::KeyParts{key, {}} : kube::SplitKey(key);
  if (ask.ns.empty() || ask.ns != key_ns) return NotOfThatKey(ask);
  switch (row.rule) {
    case Rule::kIsKey:
    case Rule::kInNamespace:
    case Rule::kIsGroup:
    case Rule::kQueuesCommand:
    case Rule::kQueuesEvent:
      break;
    case Rule::kJobsPod:
    case Rule::kJobsCommand:
    case Rule::kJobsClaim:
    case Rule::kNamedAfterJob:
    case Rule::kJobsEvent:
      return CheckOfJob(ask, row, known);
    case Rule::kGroupsPod:
      return CheckRouted(ask, "pods/", /*named=*/false, cache);
    case Rule::kPodsEvent:
      return CheckEventOfPod(ask, cache);
    case Rule::kPodsOwner:
      return CheckOwnerOfPods(ask, row.kind.name, cache);
  }
  return NotOfThatKey(ask);
}

// Queues are of no namespace: their Commands and Events may be in any.
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
  for (const Row& row : kRows) {
    if (row.service != service || !row.kind.Is(ask.resource.group(), ask.resource.plural())) continue;
    if (ask.resource.version() != row.kind.version) {
      return Refuse(RefusalReason::kKind, absl::StatusCode::kPermissionDenied,
                    fmt::format("resource.version of {} is '{}', and has to be '{}'", What(ask),
                                CutUtf8(ask.resource.version(), 63), row.kind.version));
    }
    const bool status = row.has_status && ask.subresource == "status" && ask.verb == kPatch;
    if ((row.verbs & ask.verb) == 0 || (!ask.subresource.empty() && !status)) break;
    return CheckObject(ask, row, known);
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

std::string OwningJob(const v1::Owner& owner, const kube::v1::Object& found, const Known& known) {
  const Jobs jobs = JobsOf(owner, known);
  if (found.has_pod()) return jobs.Has(found.pod().owner_uid()) ? found.pod().owner_uid() : std::string();
  for (const kube::v1::OwnerReference& reference : found.generic().meta().owner_references()) {
    if (reference.kind() == kube::kJobs.name && reference.api_version() == kube::kJobApiVersion &&
        jobs.Has(reference.uid())) {
      return reference.uid();
    }
  }
  return {};
}

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
  for (const Row& row : kRows) {
    for (const auto& [verb, name] : kVerbs) {
      if ((row.verbs & verb) != 0) grants.push_back({row.kind, std::string(row.kind.plural), std::string(name)});
    }
    if (row.has_status) grants.push_back({row.kind, fmt::format("{}/status", row.kind.plural), "patch"});
  }
  return grants;
}

Permission CheckInterest(v1::ServiceKind service, std::string_view watch) {
  if (service == kJob && watch == kube::kPersistentVolumeClaims.plural) return {};
  // What a pod says of its owners may be anything: a kind that cannot be told of is answered, and ends no stream.
  if (service == kGroup && IsOwnerWatch(watch)) return {};
  return Refuse(
      RefusalReason::kKind, absl::StatusCode::kPermissionDenied,
      fmt::format("{} does not need to watch '{}' by interest", v1::ServiceKind_Name(service), CutUtf8(watch, 127)));
}

}  // namespace basalt::gateway
