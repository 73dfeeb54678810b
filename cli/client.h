#pragma once

// Channels to the suite: the gateway is named by the user, the services are found through its topology.
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/job/v1/job.grpc.pb.h"
#include "basalt/queue/v1/queue.grpc.pb.h"

namespace basalt::cli {

// UNAVAILABLE names the address and what to do.
absl::StatusOr<gateway::v1::Topology> FetchTopology(const std::string& gateway);
absl::StatusOr<std::unique_ptr<job::v1::JobService::Stub>> ConnectJobs(const std::string& gateway);
absl::StatusOr<std::unique_ptr<queue::v1::QueueService::Stub>> ConnectQueues(const std::string& gateway);

absl::Status FromGrpc(const grpc::Status& status);

// A context with the deadline of an ordinary question.
std::unique_ptr<grpc::ClientContext> MakeContext();

// For questions, which do no harm when asked twice: `call(context)` again, for a few seconds, while the answer is
// UNAVAILABLE. A replica that has just started says so until it has seen what it owns.
absl::Status Ask(const std::function<grpc::Status(grpc::ClientContext*)>& call);
// The same for what must not be done twice: again only where the call surely was not handled.
absl::Status Order(const std::function<grpc::Status(grpc::ClientContext*)>& call);

}  // namespace basalt::cli
