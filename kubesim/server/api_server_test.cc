// Tests that kubesim alone passes. tests/conformance has the contract that it shares with the real server.
#include <gtest/gtest.h>

#include "kubesim/server/test_server.h"

namespace basalt::kubesim {
namespace {

const std::string kConfigs = "/api/v1/namespaces/default/configmaps";

TEST(ApiServerTest, TimesComeFromTheServersClock) {
  TestServer server;
  const Reply made = server.MakePod("a");
  EXPECT_EQ(made.uid().size(), 36U);
  EXPECT_EQ(made.At({"metadata", "creationTimestamp"}), "2025-06-15T15:06:40Z");
  EXPECT_EQ(http::FindHeader(made.headers, "Date"), "Sun, 15 Jun 2025 15:06:40 GMT");
  EXPECT_EQ(server.Get("/api/v1/namespaces/default/pods/a").json, made.json);
}

TEST(ApiServerTest, AnObjectAboveTheLimitOfTheStoreIsRefused) {
  TestServer server;
  EXPECT_EQ(server.MakeConfig("c", "", fmt::format(R"({{"k":"{}"}})", std::string(2 << 20, 'x'))).status, 500);
}

TEST(ApiServerTest, ABodyInProtobufIs415AndNamesTheCure) {
  TestServer server;
  const Reply answer = server.Do("POST", kConfigs, "k8s", {{"Content-Type", "application/vnd.kubernetes.protobuf"}});
  EXPECT_EQ(answer.status, 415);
  EXPECT_NE(answer.body.find("kubectl create -f"), std::string::npos) << answer.body;
}

TEST(ApiServerTest, AnAcceptHeaderWithProtobufAloneIs406) {
  TestServer server;
  EXPECT_EQ(server.Get(kConfigs, "application/vnd.kubernetes.protobuf").status, 406);
  EXPECT_EQ(server.Get(kConfigs, "application/vnd.kubernetes.protobuf,application/json").status, 200);
}

}  // namespace
}  // namespace basalt::kubesim
