#pragma once

// One request as the rules of gateway/access view it, and checks that several rules share. For gateway/access only.
// Pure.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/kube/kinds.h"
#include "gateway/access/permissions.h"

namespace basalt::gateway {

inline constexpr uint8_t kGet = 1, kCreate = 2, kPatch = 4, kDelete = 8, kDeleteCollection = 16;

// How the gateway knows that an object belongs to the key.
enum class AccessRule : uint8_t {
  kIsKey,  // The key names the object.
  // The cache routes the pod to the job, which controls it. A pod that the cache does not know is named "<job>-…". A
  // collection is selected by two labels: the job's name and its UID.
  kJobsPod,
  kJobsCommand,    // The cache routes the Command to the job. A Command to be created names the job in its body.
  kJobsClaim,      // The job's spec names the claim, or the claim is named "<job>-pvc-…".
  kNamedAfterJob,  // The object is named "<job><suffix>" and made by a plugin.
  kJobsEvent,      // The Event is named "<job>.…"; the job's name is cut short if it is very long.
  kGroupsPod,      // The cache routes the pod to the group.
  // The Event is named "<pod>.…" (cut short in the same way), and the pod is routed to the group. Or it is named
  // "<Karta>.…".
  kPodsEvent,
  kPodsOwner,      // A pod that is routed to the group names the object as its owner.
  kInNamespace,    // The key is the object's namespace.
  kQueuesCommand,  // The cache routes the Command to the queue. A Command to be created names the queue in its body.
  // The Event is named "<queue>.…" (cut short in the same way), in the namespace of Events about cluster-wide objects.
  kQueuesEvent,
  // The key names the group. In the rich profile, the key may be the namespace of a group that belongs to no job.
  kIsGroup,
};

struct AccessRow {
  v1::ServiceKind service;
  kube::Kind kind;
  uint8_t verbs;
  AccessRule rule;
  std::span<const std::string_view> suffixes = {};  // The suffixes for kNamedAfterJob.
  bool has_status = false;                          // Permits kPatch of the status, too.
};

// The parts that a read and a write have in common.
struct Ask {
  const v1::Owner& owner;
  const v1::Resource& resource;
  std::string_view subresource;
  uint8_t verb;
  std::string_view verb_name;
  std::string_view ns;
  std::string_view name;
  std::string_view uid;  // Empty if the request names the object by its name only.
  std::string_view label_selector;
};

Permission Refuse(RefusalReason why, absl::StatusCode code, std::string_view message);
Permission NotOfThatKey(const Ask& ask);
// Like NotOfThatKey, for an object that is routed to another key.
Permission Elsewhere(const Ask& ask);
Permission NotKnown(const Ask& ask);
// Returns the kind for messages: "pods/status", "jobs.batch.volcano.sh".
std::string What(const Ask& ask);

enum class Routed { kHere, kElsewhere, kNowhere };

// Finds out whether an object of the watches with that prefix is routed to the key.
Routed RoutedTo(const Ask& ask, std::string_view watch_prefix, std::string_view uid, const Cache& cache);
// Looks up the object by the UID of the request if there is one, since the API server compares the UID, too. Otherwise
// looks it up by name.
Permission CheckRouted(const Ask& ask, std::string_view watch_prefix, bool named, const Cache& cache);

// Returns the name of the object that an Event is about, as far as the Event's name contains it.
std::string_view SubjectOf(std::string_view event);
// Whether the Event is named after the object `name`, whose name is cut off if it is very long.
bool IsEventAbout(std::string_view name, std::string_view event);

// An Event's name contains at least this many characters of the name of its job or pod (common/kube/event.h). The name
// is cut off behind 236 characters, less the dashes in front of the cut; a label of 63 characters has at most 61
// dashes.
inline constexpr size_t kUncutName = 175;

}  // namespace basalt::gateway
