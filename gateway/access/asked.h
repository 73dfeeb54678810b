#pragma once

// One request as the rules of gateway/access look at it, and what several rules ask of it. For this folder alone. Pure.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/kube/kinds.h"
#include "gateway/access/permissions.h"

namespace basalt::gateway {

inline constexpr uint8_t kGet = 1, kCreate = 2, kPatch = 4, kDelete = 8, kDeleteCollection = 16;

// How it is known that an object is the key's.
enum class AccessRule : uint8_t {
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

struct AccessRow {
  v1::ServiceKind service;
  kube::Kind kind;
  uint8_t verbs;
  AccessRule rule;
  std::span<const std::string_view> suffixes = {};  // Of kNamedAfterJob.
  bool has_status = false;                          // kPatch of the status, too.
};

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

Permission Refuse(RefusalReason why, absl::StatusCode code, std::string_view message);
Permission NotOfThatKey(const Ask& ask);
// The same, of an object that is routed to another key.
Permission Elsewhere(const Ask& ask);
Permission NotKnown(const Ask& ask);
// "pods/status", "jobs.batch.volcano.sh".
std::string What(const Ask& ask);

enum class Routed { kHere, kElsewhere, kNowhere };

// Whether an object of such watches is routed to the key.
Routed RoutedTo(const Ask& ask, std::string_view watch_prefix, std::string_view uid, const Cache& cache);
// By the UID where one is given: the server compares it, too. Else by the name.
Permission CheckRouted(const Ask& ask, std::string_view watch_prefix, bool named, const Cache& cache);

// Whom an Event is about, as far as its own name says.
std::string_view SubjectOf(std::string_view event);
// Whether the Event is named after what has that name, which is cut off where it is very long.
bool IsEventAbout(std::string_view name, std::string_view event);

// The name of a job or a pod is cut off behind so much in that of its Event (common/kube/event.h), at the earliest:
// behind 236 characters, less the dashes in front of the cut, of which a label of 63 has 61 at most.
inline constexpr size_t kUncutName = 175;

}  // namespace basalt::gateway
