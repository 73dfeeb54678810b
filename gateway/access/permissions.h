#pragma once

// Decides what each service may request of the gateway: kinds and verbs, and only objects of the key that the request
// names (Owner.key), by the routing keys of design rule 2 (correctness). Pure. A decision takes one look-up, whatever
// the size of the cluster. Two cases search the pods of one slot: the owner of a plain pod, and the Event of a pod
// whose name is very long.
//
// The cache proves whose object a UID is, where the request itself cannot. Nothing is permitted for a job that neither
// is in the cache nor was there a moment ago. An object may be unknown to the cache: created a moment ago, gone, or of
// a kind that is not watched. Its name alone proves nothing. Where the service's names begin with the job's, the object
// must be read and compared before it is written (Permission::is_unseen). Otherwise the replica must send the request
// again once more is known. body.h checks objects to be created, patches.h checks patches, and answers.h reduces
// answers.
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

// Each reason is one value of a metric's label. The status code is PERMISSION_DENIED unless the comment names another
// one.
enum class RefusalReason {
  kNone,
  kKey,        // The key does not belong to the slot that the request names.
  kNamespace,  // The suite does nothing in the namespace of the key.
  kKind,       // The service does not need that kind, or not that verb of it.
  kObject,     // The object belongs to another key.
  kMoved,      // As kObject, but the replica may not have heard that the object moved to the other key. ABORTED.
  kUnknown,    // Nothing is known of the object yet. UNAVAILABLE.
};

// Returns "key", "kind" and so on.
std::string_view NameOf(RefusalReason refusal);

struct Permission {
  RefusalReason refusal = RefusalReason::kNone;
  absl::Status status;
  // The write is permitted only if the object that has the name by now is the job's: see CheckFound.
  bool is_unseen = false;
  // The refusal is about an object that exists and is routed to another key.
  bool is_elsewhere = false;
  // The UID of the job that the object to be created has to name as its owner. Empty if it need not name one.
  std::string job_uid = {};
};

// The facts by which a request is checked. Lives for one call.
struct Known {
  const Cache& cache;
  const AccessMemory& memory;
  const kube::NamespaceRules& namespaces;
  absl::Time now;
  // When the sender's stream began. The gateway is sure to have remembered and sent only moves after that moment. Until
  // the sender has received the new state, it relies on a state that another gateway, or an earlier stream, sent.
  absl::Time stream_began;
};

// Requires: the owner names a service, and its slot is below kSlotCount. Messages contain kinds and names of objects,
// never their contents.
Permission CheckWrite(const v1::WriteRequest& request, const Known& known);
Permission CheckGet(const v1::GetRequest& request, const Known& known);

// Returns the UID of the job of the owner's key that owns the object `found`. Empty if no such job owns it.
std::string OwningJob(const v1::Owner& owner, const kube::v1::Object& found, const Known& known);
// Decides whether a write with is_unseen may be carried out on the object `found`, which was read for it.
Permission CheckFound(const v1::WriteRequest& request, const kube::v1::Object& found, const Known& known);
// One verb of one kind that the table permits to some service. A test compares the grants with the roles of
// deploy/rbac.
struct Grant {
  kube::Kind kind;
  std::string resource;  // The plural, with the subresource if there is one.
  std::string verb;
};
std::vector<Grant> Grants();

// Decides whether the service may request objects of that watch by interest, whatever their names: a claim belongs to
// no slot, nor does an owner of pods. The replica receives the metadata of a claim. It receives the fields of an owner
// that rules of grouping read, and nothing of a Secret.
Permission CheckInterest(v1::ServiceKind service, std::string_view watch);

}  // namespace basalt::gateway
