#pragma once

// What each service may ask the gateway for: kinds and verbs, and of those only objects of the key that a request names
// (Owner.key), by the routing keys of design rule 2 (correctness). Pure; one look-up for each request, whatever the
// size of the cluster, but for the owner of a plain pod, and for the Event of one whose name is very long: these are
// looked for among the pods of one slot.
//
// What a request cannot show by itself, the cache does: whose the object of that UID is. Nothing is done for a job that
// the cache does not have, nor had a moment ago. Of what the cache does not know (made a moment ago, gone, or of a kind
// that is not watched) the name alone shows nothing: where the service's names begin with the job's, the object is to
// be read and compared before it is written (Permission::is_unseen); else the request is to be made again once more is
// known. What is created is looked at in body.h, what is patched in patches.h, and
// answers are reduced in answers.h.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/kube/kinds.h"
#include "common/kube/namespace_rules.h"
#include "gateway/access/access_memory.h"
#include "gateway/route/cache.h"

namespace basalt::gateway {

// Each is one value of a metric's label.
enum class RefusalReason {
  kNone,
  kKey,        // The key is not of the slot that the request names.
  kNamespace,  // The suite does nothing in the namespace of the key.
  kKind,       // The service needs no such kind, or not that verb of it.
  kObject,     // The object belongs to another key.
  kMoved,      // The same, but the replica may not have heard that it moved there. ABORTED.
  kUnknown,    // Nothing is known yet of the object. UNAVAILABLE; every other one is PERMISSION_DENIED.
};

// "key", "kind", …
std::string_view NameOf(RefusalReason refusal);

struct Permission {
  RefusalReason refusal = RefusalReason::kNone;
  absl::Status status;
  // A write is permitted if the object that has the name by now is the job's: CheckFound.
  bool is_unseen = false;
  // The refusal is about an object that is there and is routed to another key.
  bool is_elsewhere = false;
  // Of the job that what is created has to name as its owner; empty: of none.
  std::string job_uid = {};
};

// Lives for one call.
struct Known {
  const Cache& cache;
  const AccessMemory& memory;
  const kube::NamespaceRules& namespaces;
  absl::Time now;
  // When the stream of the sender began. Only what moves later is sure to be remembered, and told: until the sender has
  // been told the new state, it asks by what another gateway, or an earlier stream, has told it.
  absl::Time told_since;
};

// Requires: the owner's service is one, and its slot below kSlotCount. Messages name kinds and names, never contents.
Permission CheckWrite(const v1::WriteRequest& request, const Known& known);
Permission CheckGet(const v1::GetRequest& request, const Known& known);

// Of what was read: the UID of the job of that key that owns it; empty: none does.
std::string OwningJob(const v1::Owner& owner, const kube::v1::Object& found, const Known& known);
// Whether the write that was unseen may be carried out on what was read.
Permission CheckFound(const v1::WriteRequest& request, const kube::v1::Object& found, const Known& known);
// One verb of one kind that the table lets some service do. For the test that compares it with the roles of
// deploy/rbac.
struct Grant {
  kube::Kind kind;
  std::string resource;  // With its sub-resource.
  std::string verb;
};
std::vector<Grant> Grants();

// Whether the service may ask for objects of that watch by interest, of whatever name: a claim belongs to nobody's
// slot, nor does an owner of pods. Of a claim the metadata is told; of an owner what rules of grouping read, which is
// nothing of a Secret.
Permission CheckInterest(v1::ServiceKind service, std::string_view watch);

}  // namespace basalt::gateway
