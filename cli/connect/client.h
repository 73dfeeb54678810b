#pragma once

// Calls to the suite. The user names the gateways; their topology names the replicas of the services. Blocking; for
// one thread.
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/job/v1/job.grpc.pb.h"
#include "basalt/podgroup/v1/pod_group_query.grpc.pb.h"
#include "basalt/queue/v1/queue.grpc.pb.h"

namespace basalt::cli {

// A method of a service, such as &job::v1::JobService::Stub::GetJob.
template <typename Stub, typename Request, typename Response>
using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

// The replicas of one service. A call goes to one of them. While the answer is UNAVAILABLE, the topology is fetched
// again and the call goes to the next replica, for a few seconds: a replica that has just started answers UNAVAILABLE
// until it has observed its objects, and so does one that does not own the key. The final UNAVAILABLE names the replica
// asked last, and for how long the client asked. A user of Kubernetes is logged in first, and once again after
// UNAUTHENTICATED (channel.h).
template <typename Service>
class Client {
 public:
  using Stub = typename Service::Stub;
  using Call = std::function<grpc::Status(Stub&, grpc::ClientContext*)>;

  // `patience` is how long a call waits for an answer other than UNAVAILABLE. `gateway` is written as for --gateway.
  explicit Client(std::string gateway, absl::Duration patience = absl::Seconds(5))
      : gateway_(std::move(gateway)), patience_(patience) {}

  const std::string& gateway() const { return gateway_; }

  // Makes an idempotent call, which is repeated after every UNAVAILABLE.
  absl::Status Ask(const Call& call);
  // Makes a call that must not be handled twice: it is repeated only if it surely was not handled. Returns UNKNOWN if
  // it may have been handled.
  absl::Status Order(const Call& call);
  // The same calls, by method and request.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Ask(Method<Stub, Request, Response> method, const Request& request) {
    Response response;
    const absl::Status status =
        Ask([&](Stub& stub, grpc::ClientContext* context) { return (stub.*method)(context, request, &response); });
    if (!status.ok()) return status;
    return response;
  }
  template <typename Request, typename Response>
  absl::StatusOr<Response> Order(Method<Stub, Request, Response> method, const Request& request) {
    Response response;
    const absl::Status status =
        Order([&](Stub& stub, grpc::ClientContext* context) { return (stub.*method)(context, request, &response); });
    if (!status.ok()) return status;
    return response;
  }
  // Returns a stub for a stream, whose end the caller handles. Looks for an attached replica within the patience and
  // until the deadline. The stub lives until the next call of this client.
  absl::StatusOr<Stub*> Connect(absl::Time deadline = absl::InfiniteFuture());
  // Makes the next call go to another replica if there is one: the last one has not answered.
  void TryAnother() { stub_.reset(); }

 private:
  using Again = bool (*)(const grpc::Status& status, const grpc::ClientContext& context);
  absl::Status Run(const Call& call, Again again);
  // Points the stub at the next attached replica. Returns false if no replica is attached.
  absl::StatusOr<bool> Next();

  const std::string gateway_;
  const absl::Duration patience_;
  std::unique_ptr<Stub> stub_;
  size_t turn_ = 0;
  std::string asked_;  // "jobsvc-0 at 127.0.0.1:7701"
};

// Returns all pages of a list as one. `list` is a method of the service, or a function (stub, context, request, page),
// that requests one page.
template <typename Page, typename Service, typename Request, typename List>
absl::StatusOr<Page> AskAllPages(Client<Service>& client, Request request, List list) {
  Page all;
  do {
    Page page;
    const absl::Status status =
        client.Ask([&](auto& stub, auto* context) { return std::invoke(list, stub, context, request, &page); });
    if (!status.ok()) return status;
    request.set_page_token(page.next_page_token());
    page.clear_next_page_token();
    all.MergeFrom(page);
  } while (!request.page_token().empty());
  return all;
}

using JobStub = job::v1::JobService::Stub;
using PodGroupStub = podgroup::v1::PodGroupQueryService::Stub;
using QueueStub = queue::v1::QueueService::Stub;
using JobClient = Client<job::v1::JobService>;
using PodGroupClient = Client<podgroup::v1::PodGroupQueryService>;
using QueueClient = Client<queue::v1::QueueService>;

}  // namespace basalt::cli
