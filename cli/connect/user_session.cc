#include "cli/connect/user_session.h"

#include <fmt/format.h>

#include <chrono>
#include <vector>

#include "basalt/gateway/v1/user.grpc.pb.h"
#include "cli/connect/gateway_addresses.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

// A gateway asks the API server before it answers a log-in.
constexpr std::chrono::seconds kLogInDeadline(15);

bool IsSilent(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
}

}  // namespace

std::string RefusalText(const std::string& address, const grpc::Status& status) {
  const std::string& why = status.error_message();
  // A gateway that accepts no users ends the handshake with a client that has no certificate of the suite.
  if (IsSilent(status)) {
    return fmt::format("the gateway at {} does not answer, or takes no users of Kubernetes (--kubernetes_users): {}",
                       address, why);
  }
  switch (status.error_code()) {
    case grpc::StatusCode::UNIMPLEMENTED:
      return fmt::format("the gateway at {} takes no users of Kubernetes (--kubernetes_users)", address);
    case grpc::StatusCode::UNAUTHENTICATED:
      return fmt::format(
          "the gateway at {} does not know the user, or takes no users of Kubernetes (--kubernetes_users): {}", address,
          why);
    default:
      return fmt::format("the gateway at {} refuses the user: {}", address, why);
  }
}

absl::Status UserSession::LogInNow(const std::string& gateways) {
  BASALT_ASSIGN_OR_RETURN(const http::Identity proof, ProofOf(user_));
  BASALT_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ChannelCredentials> credentials,
                          credentials_->ForLogIn({.certificate_pem = proof.cert_pem, .key_pem = proof.key_pem}));
  gateway::v1::LogInRequest request;
  request.set_kubernetes_token(proof.token);
  gateway::v1::LogInResponse response;
  std::vector<std::string> failures;
  bool is_refused = false;
  const auto ask = [&](const std::string& address) {
    const auto stub = gateway::v1::UserService::NewStub(grpc::CreateChannel(address, credentials));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kLogInDeadline);
    const grpc::Status status = stub->LogIn(&context, request, &response);
    if (status.ok()) return true;
    failures.push_back(RefusalText(address, status));
    is_refused |= !IsSilent(status);
    return false;
  };
  BASALT_ASSIGN_OR_RETURN(const bool is_taken, AskInTurn(gateways, failures, ask));
  if (!is_taken) {
    return NoGateway(is_refused ? absl::StatusCode::kUnauthenticated : absl::StatusCode::kUnavailable, failures);
  }
  credentials_->SetToken(response.token());
  name_ = response.user();
  expires_ = absl::FromUnixSeconds(response.expire_time().seconds());
  return absl::OkStatus();
}

absl::Status UserSession::LogIn(const std::string& gateways, absl::Time now) {
  if (now < expires_ - kMargin) return absl::OkStatus();
  const absl::Status status = LogInNow(gateways);
  // If no gateway answers for a moment, the old token serves until it ends.
  if (status.ok() || now < expires_) return absl::OkStatus();
  return Annotate(status, fmt::format("the user of {} cannot log in", user_.name));
}

}  // namespace basalt::cli
