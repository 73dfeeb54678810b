// Tests which user a real API server takes us for, and whether we check that the server is the one that we mean.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "common/http/failure.h"
#include "tests/realkube/gateway_client_fixture.h"

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;

TEST_F(GatewayClientTest, EachWayOfProvingWhoWeAreIsTaken) {
  Connect(Gateway());
  EXPECT_EQ(WhoAmI(), kAccount) << "a client certificate";
  http::CurlOptions options = Gateway();
  options.cert_file.clear();
  options.key_file.clear();
  Connect(options);
  EXPECT_EQ(WhoAmI(), "403") << "nobody may ask nothing";
  options.bearer_token = NewToken();
  Connect(options);
  EXPECT_EQ(WhoAmI(), kAccount) << "a token";
  options.bearer_token_file = Write("token", "not one\n");
  Connect(options);
  EXPECT_EQ(WhoAmI(), "401");
  Write("token", NewToken());
  const absl::Time end = loop_->Now() + absl::Seconds(20);
  while (WhoAmI() != kAccount && loop_->Now() < end) {
  }
  EXPECT_EQ(WhoAmI(), kAccount) << "the file's next token, without a restart";
}

TEST_F(GatewayClientTest, APluginsTokenAndItsCertificateAreTaken) {
  const auto plugin = [&](const std::string& status) {
    return Write("plugin",
                 "#!/bin/sh\ncat <<'END'\n{\"kind\":\"ExecCredential\",\"apiVersion\":"
                 "\"client.authentication.k8s.io/v1\",\"status\":" +
                     status + "}\nEND\n",
                 0700);
  };
  const std::string user = fmt::format(
      "{{exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: ./plugin}}}}");
  const std::string config =
      Write("config", fmt::format("current-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
                                  "clusters: [{{name: c, cluster: {{server: '{}', certificate-authority: {}}}}}]\n"
                                  "users: [{{name: u, user: {}}}]\n",
                                  cluster_->kube_server(), Gateway().ca_file, user));
  plugin(fmt::format(R"({{"token":"{}"}})", NewToken()));
  Connect(*http::ReadKubeconfig(config));
  EXPECT_EQ(WhoAmI(), kAccount);
  json::object status;
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  status["clientCertificateData"] = read(Gateway().cert_file);
  status["clientKeyData"] = read(Gateway().key_file);
  plugin(ToText(status));
  Connect(*http::ReadKubeconfig(config));
  EXPECT_EQ(WhoAmI(), kAccount);
}

TEST_F(GatewayClientTest, WhoActsForAnotherIsTheOther) {
  http::CurlOptions options = *http::ReadKubeconfig(cluster_->kubeconfig("admin"));
  options.headers = {{"Impersonate-User", "jane"},
                     {"Impersonate-Uid", "u-1"},
                     {"Impersonate-Group", "a"},
                     {"Impersonate-Group", "b"},
                     {"Impersonate-Extra-acme.com%2Fproject", "x"}};
  Connect(options);
  EXPECT_EQ(WhoAmI(), "jane");
  const std::string user = ToText(*FindPath(review_, {"status", "userInfo"}));
  EXPECT_THAT(user, HasSubstr(R"("uid":"u-1")"));
  EXPECT_THAT(user, HasSubstr(R"("groups":["a","b","system:authenticated"])"));
  EXPECT_THAT(user, HasSubstr(R"("extra":{"acme.com/project":["x"]})"));
}

TEST_F(GatewayClientTest, TheServersNamesAreThoseOfItsCertificate) {
  http::CurlOptions options = Gateway();
  options.tls_server_name = "kubernetes.default.svc";
  Connect(options);
  EXPECT_EQ(WhoAmI(), kAccount);
  options.tls_server_name = "elsewhere.example";
  Connect(options);
  EXPECT_EQ(http::FailureOf(Do("GET", "/version").status()), http::Failure::kCertificateName);
}

}  // namespace
}  // namespace basalt::gateway
