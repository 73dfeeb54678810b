#include "gateway/server/trouble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;

TEST(TroubleTest, EveryFailureHasOneWordAndACure) {
  const struct {
    absl::Status status;
    std::string_view state;
    std::string_view cure;
    bool of_connection, needs_help;
  } cases[] = {
      {absl::UnavailableError("Failed to connect to 127.0.0.1"), "unreachable", "the API server runs", true, false},
      {absl::UnknownError("Recv failure: Connection reset by peer"), "unreachable", "the API server runs", true, false},
      {absl::DeadlineExceededError("no answer within 1m"), "unreachable", "the API server runs", true, false},
      {absl::UnavailableError("SSL certificate problem: unable to get local issuer certificate"), "untrusted",
       "certificate-authority of the kubeconfig", true, true},
      {absl::UnavailableError("SSL certificate problem: certificate has expired"), "untrusted",
       "renew the API server's serving certificate", true, true},
      {absl::UnavailableError("certificate: expired: GET https://k: …"), "untrusted", "renew the API", true, true},
      {absl::UnavailableError("tls: handshake: GET https://k: …"), "untrusted", "certificate-authority", true, true},
      {absl::UnavailableError("certificate: our own cannot be used: GET …"), "unauthorized", "client cert", true, true},
      {absl::UnavailableError("connection: refused or unreachable: …"), "unreachable", "runs", true, false},
      {absl::UnavailableError("connection: refused or unreachable: OpenSSL SSL_connect: Connection reset by peer"),
       "unreachable", "runs", true, false},
      {absl::UnauthenticatedError("HTTP 401 Unauthorized: Unauthorized"), "unauthorized", "token", true, true},
      {absl::InternalError("HTTP 500 InternalError: etcd"), "failing", "API server's own log", false, false},
      {absl::InvalidArgumentError("the list cannot be read"), "failing", "API server's own log", false, false},
  };
  for (const auto& c : cases) {
    const Trouble trouble = TroubleOf(c.status);
    EXPECT_EQ(trouble.state, c.state) << c.status;
    EXPECT_EQ(trouble.why, c.status.message());
    EXPECT_THAT(trouble.cure, HasSubstr(c.cure)) << c.status;
    EXPECT_EQ(trouble.OfConnection(), c.of_connection) << c.status;
    EXPECT_EQ(trouble.NeedsHelp(), c.needs_help) << c.status;
  }
}

TEST(TroubleTest, AnAbsentKindIsToldFromOneInOtherVersions) {
  constexpr std::string_view kQueues = "queues.scheduling.volcano.sh";
  EXPECT_EQ(AbsentWatch(kQueues, "v1beta1", {}).state, "absent");
  EXPECT_THAT(AbsentWatch(kQueues, "v1beta1", {"v1", "v1beta1"}).why,
              HasSubstr("serves v1beta1 of the group, but not"));
  EXPECT_EQ(AbsentWatch(kQueues, "v1beta1", {"v1", "v1beta1"}).state, "absent");
  const Trouble other = AbsentWatch(kQueues, "v1beta1", {"v1", "v2"});
  EXPECT_EQ(other.state, "version");
  EXPECT_EQ(other.why, "the cluster serves the group of queues.scheduling.volcano.sh as v1, v2, not as v1beta1");
}

TEST(TroubleTest, OnlyRbacsOwnRefusalIsAMissingRight) {
  const struct {
    int code;
    std::string_view message;
    bool missing;
  } cases[] = {
      {403,
       R"(pods is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods" in API group "" in)"
       R"( the namespace "default")",
       true},
      {403, R"(pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=4, limited: pods=4)", false},
      {403, R"(pods "p" is forbidden: unable to create new content in namespace n because it is being terminated)",
       false},
      {409, R"(User "x" cannot create resource "pods")", false},
  };
  for (const auto& c : cases) {
    v1::KubeError error;
    error.set_code(c.code);
    error.set_message(std::string(c.message));
    EXPECT_EQ(IsMissingRight(error), c.missing) << c.message;
  }
}

}  // namespace
}  // namespace basalt::gateway
