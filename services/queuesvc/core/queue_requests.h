#pragma once

// What queuesvc writes of queues, as requests to the gateway. Pure.
#include <string>
#include <string_view>

#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/queue/v1/queue.pb.h"
#include "services/queuesvc/core/queue_state.h"

namespace basalt::queuesvc {

// Makes root or the default queue as upstream's scheduler does (queue spec 2.1).
gateway::v1::WriteRequest MakeCreateRequest(std::string_view name);

// Makes the queue of that manifest, which is a Queue as JSON.
gateway::v1::WriteRequest MakeManifestRequest(std::string_view name, std::string manifest_json, bool dry_run);

gateway::v1::WriteRequest MakeQueueDeletion(const kube::v1::ObjectMeta& queue);

// Makes root the parent (queue spec 6.1-1).
gateway::v1::WriteRequest MakeParentRequest(const kube::v1::ObjectMeta& queue);

// The annotation volcano.sh/closed-by-parent (queue spec 6.5).
gateway::v1::WriteRequest MakeClosedByParentRequest(const kube::v1::ObjectMeta& queue, bool closed_by_parent);

// Makes a Command about the queue, as vcctl does; `request_id`: two of the same queue, action and id have the same
// name.
gateway::v1::WriteRequest MakeCommandCreation(const kube::v1::ObjectMeta& queue, std::string_view action,
                                              std::string_view request_id);

// Deletes the Command of that UID.
gateway::v1::WriteRequest MakeCommandDeletion(const kube::v1::ObjectMeta& command);

// The server-side apply that publishes the state (queue spec 6.1-6), for this version of the queue alone: the API
// server looks at no UID in the status of a custom resource, and the next queue of that name is another one.
gateway::v1::WriteRequest MakeStateRequest(const kube::v1::Queue& queue, QueueState state);

// The server-side apply that publishes the counts (decision 2 of the spec README), for whatever version there is: the
// state is in the hands of another field manager, and stays as somebody may have edited it meanwhile.
gateway::v1::WriteRequest MakeCountsRequest(std::string_view queue, const queue::v1::PodGroupCounts& counts);

}  // namespace basalt::queuesvc
