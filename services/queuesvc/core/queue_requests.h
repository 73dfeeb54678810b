#pragma once

// Makes the requests by which queuesvc writes queues and Commands through the gateway. Pure.
#include <string>
#include <string_view>

#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/queue/v1/queue.pb.h"
#include "services/queuesvc/core/queue_state.h"

namespace basalt::queuesvc {

// Creates root or the default queue as upstream's scheduler does (queue spec 2.1).
gateway::v1::WriteRequest MakeCreateRequest(std::string_view name);

// Creates the queue of the manifest, a Queue in JSON.
gateway::v1::WriteRequest MakeManifestRequest(std::string_view name, std::string manifest_json, bool dry_run);

gateway::v1::WriteRequest MakeQueueDeletion(const kube::v1::ObjectMeta& queue);

// Makes root the parent (queue spec 6.1-1).
gateway::v1::WriteRequest MakeParentRequest(const kube::v1::ObjectMeta& queue);

// Sets the annotation volcano.sh/closed-by-parent (queue spec 6.5).
gateway::v1::WriteRequest MakeClosedByParentRequest(const kube::v1::ObjectMeta& queue, bool closed_by_parent);

// Creates a Command about the queue, as vcctl does. Equal queues, actions and `request_id`s give equal names of
// Commands.
gateway::v1::WriteRequest MakeCommandCreation(const kube::v1::ObjectMeta& queue, std::string_view action,
                                              std::string_view request_id);

// Deletes the Command, by its UID.
gateway::v1::WriteRequest MakeCommandDeletion(const kube::v1::ObjectMeta& command);

// The server-side apply that publishes the state (queue spec 6.1-6). It names the version of the queue: the API server
// does not check UIDs in the status of a custom resource, and a new queue may have the name by then.
gateway::v1::WriteRequest MakeStateRequest(const kube::v1::Queue& queue, QueueState state);

// The server-side apply that publishes the counts (decision 2 of the spec README). It names no version: another field
// manager owns the state, which stays even if somebody edits it in the meantime.
gateway::v1::WriteRequest MakeCountsRequest(std::string_view queue, const queue::v1::PodGroupCounts& counts);

}  // namespace basalt::queuesvc
