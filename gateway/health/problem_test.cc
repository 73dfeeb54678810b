#include "gateway/health/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/http/failure.h"

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;

absl::Status Failed(http::Failure failure) {
  return http::FailureStatus(absl::StatusCode::kUnavailable, failure, "GET https://k: OpenSSL SSL_connect: as it says");
}

TEST(ProblemTest, EveryFailureHasOneWordAndACure) {
  const struct {
    absl::Status status;
    std::string_view state;
    std::string_view cure;
    bool of_connection, needs_help;
  } cases[] = {
      {absl::UnavailableError("Failed to connect to 127.0.0.1"), "unreachable", "the API server runs", true, false},
      {absl::UnknownError("Recv failure: Connection reset by peer"), "unreachable", "the API server runs", true, false},
      {absl::DeadlineExceededError("no answer within 1m"), "unreachable", "the API server runs", true, false},
      {Failed(http::Failure::kCertificateAuthority), "untrusted", "certificate-authority of the kubeconfig", true,
       true},
      {Failed(http::Failure::kCertificateExpired), "untrusted", "renew the API server's", true, true},
      {Failed(http::Failure::kCertificateNotYetValid), "untrusted", "certificate-authority", true, true},
      {Failed(http::Failure::kCertificateName), "untrusted", "the server's name one that", true, true},
      {Failed(http::Failure::kCertificateOther), "untrusted", "certificate-authority", true, true},
      {Failed(http::Failure::kAuthorityUnreadable), "untrusted", "ca.crt", true, true},
      {Failed(http::Failure::kTls), "untrusted", "certificate-authority", true, true},
      {Failed(http::Failure::kOwnCertificate), "unauthorized", "client certificate", true, true},
      {Failed(http::Failure::kCredentials), "unauthorized", "client certificate", true, true},
      {Failed(http::Failure::kVanished), "unreachable", "runs", true, false},
      {Failed(http::Failure::kConnect), "unreachable", "runs", true, false},
      {absl::UnknownError("OpenSSL SSL_read: Connection reset by peer"), "unreachable", "runs", true, false},
      {absl::UnauthenticatedError("HTTP 401 Unauthorized: Unauthorized"), "unauthorized", "token", true, true},
      {absl::InternalError("HTTP 500 InternalError: etcd"), "failing", "API server's own log", false, false},
      {absl::InvalidArgumentError("the list cannot be read"), "failing", "API server's own log", false, false},
  };
  for (const auto& c : cases) {
    const Problem problem = ProblemOf(c.status);
    EXPECT_EQ(problem.state, c.state) << c.status;
    EXPECT_EQ(problem.why, c.status.message());
    EXPECT_THAT(problem.cure, HasSubstr(c.cure)) << c.status;
    EXPECT_EQ(problem.OfConnection(), c.of_connection) << c.status;
    EXPECT_EQ(problem.NeedsHelp(), c.needs_help) << c.status;
  }
}

TEST(ProblemTest, AnAbsentKindIsToldFromOneInOtherVersions) {
  constexpr std::string_view kQueues = "queues.scheduling.volcano.sh";
  EXPECT_EQ(AbsentWatch(kQueues, "v1beta1", {}).state, "absent");
  EXPECT_THAT(AbsentWatch(kQueues, "v1beta1", {"v1", "v1beta1"}).why,
              HasSubstr("serves v1beta1 of the group, but not"));
  EXPECT_EQ(AbsentWatch(kQueues, "v1beta1", {"v1", "v1beta1"}).state, "absent");
  const Problem other = AbsentWatch(kQueues, "v1beta1", {"v1", "v2"});
  EXPECT_EQ(other.state, "version");
  EXPECT_EQ(other.why, "the cluster serves the group of queues.scheduling.volcano.sh as v1, v2, not as v1beta1");
}

}  // namespace
}  // namespace basalt::gateway
