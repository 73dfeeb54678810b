#include "common/http/kubeconfig/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::http {
namespace {

using ::testing::HasSubstr;

constexpr char kConfig[] = R"(
apiVersion: v1
kind: Config
current-context: main
clusters:
- name: c1
  cluster: {server: "https://10.0.0.1:6443", certificate-authority-data: Q0EK, tls-server-name: kube}
- name: plain
  cluster: {server: "http://127.0.0.1:8001"}
- name: files
  cluster: {server: "https://h", certificate-authority: ca.pem}
contexts:
- {name: main, context: {cluster: c1, user: admin}}
- {name: plain, context: {cluster: plain}}
- {name: files, context: {cluster: files, user: files}}
- {name: cloud, context: {cluster: c1, user: cloud}}
- {name: broken, context: {cluster: nowhere, user: admin}}
- {name: garbled, context: {cluster: c1, user: garbled}}
users:
- {name: admin, user: {client-certificate-data: Q0VSVAo=, client-key-data: S0VZCg==, token: secret}}
- {name: files, user: {client-certificate: /abs/cert.pem, client-key: key.pem, tokenFile: token}}
- {name: cloud, user: {exec: {command: aws}}}
- {name: garbled, user: {client-key-data: "%%%"}}
)";

TEST(KubeconfigTest, TheCurrentContextSaysServerAndIdentity) {
  const auto options = ParseKubeconfig(kConfig, "/home");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->base_url, "https://10.0.0.1:6443");
  EXPECT_EQ(options->ca_pem, "CA\n");
  EXPECT_EQ(options->cert_pem, "CERT\n");
  EXPECT_EQ(options->key_pem, "KEY\n");
  EXPECT_EQ(options->bearer_token, "secret");
  EXPECT_EQ(options->tls_server_name, "kube");
}

TEST(KubeconfigTest, RelativeFilesAreRelativeToTheConfig) {
  const auto options = ParseKubeconfig(kConfig, "/home", "files");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->ca_file, "/home/ca.pem");
  EXPECT_EQ(options->cert_file, "/abs/cert.pem");
  EXPECT_EQ(options->key_file, "/home/key.pem");
  EXPECT_EQ(options->bearer_token_file, "/home/token");
  EXPECT_EQ(ParseKubeconfig(kConfig, "", "plain")->base_url, "http://127.0.0.1:8001");
}

TEST(KubeconfigTest, WhatCannotBeUsedIsNamed) {
  const struct {
    std::string text;
    const char* context;
    absl::StatusCode code;
    const char* message;
  } rows[] = {
      {kConfig, "cloud", absl::StatusCode::kUnimplemented, "users['cloud'].exec is not supported"},
      {kConfig, "broken", absl::StatusCode::kInvalidArgument, "clusters has no entry named 'nowhere'"},
      {kConfig, "missing", absl::StatusCode::kInvalidArgument, "contexts has no entry named 'missing'"},
      {kConfig, "garbled", absl::StatusCode::kInvalidArgument, "client-key-data is not base64"},
      {"kind: Config", "", absl::StatusCode::kInvalidArgument, "current-context is empty"},
      {"[1, 2]", "", absl::StatusCode::kInvalidArgument, "one YAML map"},
      {"a: [", "", absl::StatusCode::kInvalidArgument, "line"},
  };
  for (const auto& row : rows) {
    const auto options = ParseKubeconfig(row.text, "", row.context);
    EXPECT_EQ(options.status().code(), row.code) << row.message;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(row.message));
  }
  EXPECT_EQ(ReadKubeconfig("/nonexistent/config").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(InClusterOptions("10.0.0.1", "443", "/nonexistent").status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace basalt::http
