#pragma once

// Calls to the suite: gateways are named by the user, the services are found through their topology. Blocking; for one
// thread.
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/job/v1/job.grpc.pb.h"
#include "basalt/podgroup/v1/pod_group_query.grpc.pb.h"
#include "basalt/queue/v1/queue.grpc.pb.h"

namespace basalt::cli {

// The replicas of one service. A call goes to one of them; while the answer is UNAVAILABLE, to the next one, looked up
// anew, and again for a few seconds: a replica that has just started says so until it has seen what it owns, and one
// that does not own the key says so too. UNAVAILABLE in the end names who was asked and how long. A user of Kubernetes
// is logged in first, and once again where the answer is UNAUTHENTICATED (channel.h).
template <typename Service>
class Client {
 public:
  using Call = std::function<grpc::Status(typename Service::Stub&, grpc::ClientContext*)>;

  // `patience`: how long somebody who asks waits for an answer other than UNAVAILABLE.
  // `gateway`: as --gateway says it.
  explicit Client(std::string gateway, absl::Duration patience = absl::Seconds(5))
      : gateway_(std::move(gateway)), patience_(patience) {}

  const std::string& gateway() const { return gateway_; }

  // For questions, which do no harm when asked twice.
  absl::Status Ask(const Call& call);
  // For what must not be done twice: again only where the call surely was not handled. UNKNOWN where it may have been.
  absl::Status Order(const Call& call);
  // For a stream, whose end is the caller's to judge: one attempt at finding a replica, within the patience and until
  // the deadline. The stub lives as long as the client, until the next call.
  absl::StatusOr<typename Service::Stub*> Connect(absl::Time deadline = absl::InfiniteFuture());
  // The replica that was asked last has not answered: the next call goes to another one, if there is one.
  void TryAnother() { stub_.reset(); }

 private:
  using Again = bool (*)(const grpc::Status& status, const grpc::ClientContext& context);
  absl::Status Run(const Call& call, Again again);
  // Points the stub at the next attached replica; false where there is none.
  absl::StatusOr<bool> Next();

  const std::string gateway_;
  const absl::Duration patience_;
  std::unique_ptr<typename Service::Stub> stub_;
  size_t turn_ = 0;
  std::string asked_;  // "jobsvc-0 at 127.0.0.1:7701"
};

// All pages of a list as one. `list(stub, context, request, page)` asks for one of them.
template <typename Page, typename Service, typename Request, typename List>
absl::StatusOr<Page> AskAllPages(Client<Service>& client, Request request, List list) {
  Page all;
  do {
    Page page;
    const absl::Status status =
        client.Ask([&](auto& stub, auto* context) { return list(stub, context, request, &page); });
    if (!status.ok()) return status;
    request.set_page_token(page.next_page_token());
    page.clear_next_page_token();
    all.MergeFrom(page);
  } while (!request.page_token().empty());
  return all;
}

using JobClient = Client<job::v1::JobService>;
using PodGroupClient = Client<podgroup::v1::PodGroupQueryService>;
using QueueClient = Client<queue::v1::QueueService>;

}  // namespace basalt::cli
