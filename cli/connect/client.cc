#include "cli/connect/client.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "cli/connect/channel.h"
#include "cli/connect/gateways.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/rpc/grpc/status_bridge.h"

namespace basalt::cli {
namespace {

constexpr std::chrono::seconds kQuestionDeadline(30);
constexpr absl::Duration kPause = absl::Milliseconds(50);

template <typename Service>
struct Kind;
template <>
struct Kind<job::v1::JobService> {
  static constexpr gateway::v1::ServiceKind kKind = gateway::v1::SERVICE_KIND_JOB;
  static constexpr identity::Role kRole = identity::Role::kJobsvc;
  static constexpr std::string_view kName = "jobsvc";
};
template <>
struct Kind<podgroup::v1::PodGroupQueryService> {
  static constexpr gateway::v1::ServiceKind kKind = gateway::v1::SERVICE_KIND_POD_GROUP;
  static constexpr identity::Role kRole = identity::Role::kPgsvc;
  static constexpr std::string_view kName = "pgsvc";
};
template <>
struct Kind<queue::v1::QueueService> {
  static constexpr gateway::v1::ServiceKind kKind = gateway::v1::SERVICE_KIND_QUEUE;
  static constexpr identity::Role kRole = identity::Role::kQueuesvc;
  static constexpr std::string_view kName = "queuesvc";
};

std::unique_ptr<grpc::ClientContext> MakeContext() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + kQuestionDeadline);
  return context;
}

}  // namespace

template <typename Service>
absl::StatusOr<bool> Client<Service>::Next() {
  BASALT_ASSIGN_OR_RETURN(const gateway::v1::Topology topology, FetchTopology(gateway_));
  std::vector<gateway::v1::Member> members;
  for (const gateway::v1::MemberStatus& member : topology.members()) {
    if (member.member().service() == Kind<Service>::kKind && member.attached()) members.push_back(member.member());
  }
  if (members.empty()) return false;
  const gateway::v1::Member& member = members[turn_++ % members.size()];
  asked_ = fmt::format("{} at {}", member.replica(), member.address());
  BASALT_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                          MakeChannel(member.address(), Kind<Service>::kRole));
  stub_ = Service::NewStub(channel);
  return true;
}

template <typename Service>
absl::StatusOr<typename Client<Service>::Stub*> Client<Service>::Connect(absl::Time deadline) {
  const absl::Time end = std::min(absl::Now() + patience_, deadline);
  BASALT_RETURN_IF_ERROR(LogInUser(gateway_));
  while (stub_ == nullptr) {
    BASALT_ASSIGN_OR_RETURN(const bool found, Next());
    if (found) break;
    if (absl::Now() >= end) {
      return MakeStatus(absl::StatusCode::kUnavailable,
                        fmt::format("no {} is attached to the gateway at {}; see 'basaltctl topology'",
                                    Kind<Service>::kName, gateway_));
    }
    absl::SleepFor(kPause);
  }
  return stub_.get();
}

template <typename Service>
absl::Status Client<Service>::Run(const Call& call, Again again) {
  const absl::Time end = absl::Now() + patience_;
  bool has_logged_in_again = false;
  while (true) {
    BASALT_ASSIGN_OR_RETURN(auto* const stub, Connect());
    const std::unique_ptr<grpc::ClientContext> context = MakeContext();
    const grpc::Status status = call(*stub, context.get());
    // A server refuses an unauthenticated call before it is handled, so that even an order may be repeated.
    if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED && !std::exchange(has_logged_in_again, true)) {
      BASALT_ASSIGN_OR_RETURN(const bool is_another_token, LogInUserAgain(gateway_));
      if (is_another_token) continue;
    }
    if (!again(status, *context)) {
      if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return rpc::FromGrpc(status);
      return MakeStatus(absl::StatusCode::kUnknown,
                        fmt::format("{} went away ({}): what was asked may have been done; look before you repeat it",
                                    asked_, status.error_message()));
    }
    if (absl::Now() >= end) {
      return MakeStatus(absl::StatusCode::kUnavailable,
                        fmt::format("{} (asked for {}, last {}; see 'basaltctl topology')", status.error_message(),
                                    absl::FormatDuration(patience_), asked_));
    }
    TryAnother();
    absl::SleepFor(kPause);
  }
}

template <typename Service>
absl::Status Client<Service>::Ask(const Call& call) {
  return Run(call, [](const grpc::Status& status, const grpc::ClientContext&) {
    return status.error_code() == grpc::StatusCode::UNAVAILABLE;
  });
}

template <typename Service>
absl::Status Client<Service>::Order(const Call& call) {
  return Run(call, [](const grpc::Status& status, const grpc::ClientContext& context) {
    return rpc::FromCall(status, context).code() == absl::StatusCode::kUnavailable;
  });
}

template class Client<job::v1::JobService>;
template class Client<podgroup::v1::PodGroupQueryService>;
template class Client<queue::v1::QueueService>;

}  // namespace basalt::cli
