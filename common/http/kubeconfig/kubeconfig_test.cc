#include "common/http/kubeconfig/kubeconfig.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/testing/temp_dir.h"

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
- name: told
  cluster:
    server: "https://h"
    certificate-authority-data: Q0EK
    proxy-url: "socks5://p:1080"
    extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: a}}, {name: other, extension: {}}]
contexts:
- {name: main, context: {cluster: c1, user: admin}}
- {name: plain, context: {cluster: plain}}
- {name: files, context: {cluster: files, user: files}}
- {name: cloud, context: {cluster: told, user: cloud}}
- {name: old, context: {cluster: c1, user: old}}
- {name: broken, context: {cluster: nowhere, user: admin}}
- {name: garbled, context: {cluster: c1, user: garbled}}
users:
- {name: admin, user: {client-certificate-data: Q0VSVAo=, client-key-data: S0VZCg==, token: secret}}
- {name: files, user: {client-certificate: /abs/cert.pem, client-key: key.pem, tokenFile: token}}
- {name: old, user: {username: me, password: secret}}
- name: cloud
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/login, args: [get, --quiet], interactiveMode: IfAvailable,
      env: [{name: PROFILE, value: batch}], installHint: see the manual, provideClusterInfo: true}
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

TEST(KubeconfigTest, AnExecPluginIsRunAsTheFileSays) {
  const auto options = ParseKubeconfig(kConfig, "/home", "cloud");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->proxy_url, "socks5://p:1080");
  ASSERT_TRUE(options->exec_plugin.has_value());
  const ExecPlugin wanted = {
      .api_version = "client.authentication.k8s.io/v1",
      .command = "/home/./bin/login",
      .arguments = {"get", "--quiet"},
      .environment = {{"PROFILE", "batch"}},
      .install_hint = "see the manual",
      .cluster_info = R"({"server":"https://h","certificate-authority-data":"Q0EK","proxy-url":"socks5://p:1080",)"
                      R"("config":{"audience":"a"}})"};
  EXPECT_EQ(*options->exec_plugin, wanted);
}

// Returns a config of one cluster and one user, each given in YAML's flow form.
std::string ConfigOf(std::string_view cluster, std::string_view user) {
  return fmt::format(
      "current-context: c\nclusters: [{{name: c, cluster: {}}}]\nusers: [{{name: u, user: {}}}]\n"
      "contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n",
      cluster, user);
}

TEST(KubeconfigTest, ActingForAnotherIsHeaders) {
  const auto options = ParseKubeconfig(
      ConfigOf("{server: 'https://h'}",
               "{token: t, as: jane, as-uid: u-1, as-groups: [a, b], as-user-extra: {Acme.com/Project: [x, z]}}"),
      "");
  ASSERT_TRUE(options.ok()) << options.status();
  const Headers wanted = {{"Impersonate-User", "jane"},
                          {"Impersonate-Uid", "u-1"},
                          {"Impersonate-Group", "a"},
                          {"Impersonate-Group", "b"},
                          {"Impersonate-Extra-acme.com%2Fproject", "x"},
                          {"Impersonate-Extra-acme.com%2Fproject", "z"}};
  EXPECT_EQ(options->headers, wanted);
}

TEST(KubeconfigTest, AContradictionIsRefused) {
  constexpr std::string_view kServer = "{server: 'https://h'}";
  const struct {
    std::string_view cluster, user;
    absl::StatusCode code;
    const char* message;
  } rows[] = {
      {"{server: h}", "{}", absl::StatusCode::kInvalidArgument, "no http or https URL"},
      {"{server: 'https://h', proxy-url: 'ftp://p'}", "{}", absl::StatusCode::kInvalidArgument, "proxy-url"},
      {"{server: 'https://h', insecure-skip-tls-verify: true, certificate-authority: f}", "{}",
       absl::StatusCode::kInvalidArgument, "insecure-skip-tls-verify"},
      {kServer, "{client-certificate: f}", absl::StatusCode::kInvalidArgument, "certificate without a key"},
      {kServer, "{client-key: f}", absl::StatusCode::kInvalidArgument, "key without a certificate"},
      {kServer, "{as-groups: [g]}", absl::StatusCode::kInvalidArgument, "without as"},
      {kServer, "{as: \"a\\nb\"}", absl::StatusCode::kInvalidArgument, "as has a line break"},
      {kServer, "{auth-provider: {name: gcp}}", absl::StatusCode::kUnimplemented, "auth-provider"},
      {kServer, "{password: p}", absl::StatusCode::kUnimplemented, "password"},
      {kServer, "{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: c}}",
       absl::StatusCode::kInvalidArgument, "exec.apiVersion"},
      {kServer, "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}",
       absl::StatusCode::kInvalidArgument, "exec.command is empty"},
      {kServer, "{exec: {apiVersion: client.authentication.k8s.io/v1, command: c}}", absl::StatusCode::kInvalidArgument,
       "interactiveMode is needed"},
      {kServer, "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: c}}", absl::StatusCode::kOk, ""},
      {kServer, "{exec: {apiVersion: client.authentication.k8s.io/v1, command: c, interactiveMode: Always}}",
       absl::StatusCode::kUnimplemented, "nobody sits before a server"},
      {kServer, "{exec: {apiVersion: client.authentication.k8s.io/v1, command: c, interactiveMode: Sometimes}}",
       absl::StatusCode::kInvalidArgument, "interactiveMode is 'Sometimes'"},
  };
  for (const auto& row : rows) {
    const auto options = ParseKubeconfig(ConfigOf(row.cluster, row.user), "");
    EXPECT_EQ(options.status().code(), row.code) << row.user << options.status();
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(row.message));
  }
}

TEST(KubeconfigTest, TheFirstOfSeveralFilesCounts) {
  const basalt::testing::TempDir dir;
  std::filesystem::create_directory(dir / "a");
  std::filesystem::create_directory(dir / "b");
  std::ofstream(dir / "a/config") << "users: [{name: u, user: {tokenFile: t}}]\n"
                                     "contexts: [{name: x, context: {cluster: c, user: u}}]\n";
  std::ofstream(dir / "b/config")
      << "current-context: x\n"
         "users: [{name: u, user: {tokenFile: other}}]\n"
         "clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: ca}}]\n";
  const std::string paths = fmt::format("{}:{}::{}", dir / "absent", dir / "a/config", dir / "b/config");
  const auto options = ReadKubeconfigs(paths);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->bearer_token_file, dir / "a/t") << "relative to the file that names it";
  EXPECT_EQ(options->ca_file, dir / "b/ca");
  EXPECT_EQ(ReadKubeconfigs(dir / "absent").status().code(), absl::StatusCode::kNotFound);
  std::ofstream(dir / "a/config") << "a: [";
  EXPECT_THAT(std::string(ReadKubeconfigs(paths).status().message()), HasSubstr("a/config"));
}

TEST(KubeconfigTest, AFileThatNeverEndsIsNotReadToItsEnd) {
  const absl::Status alone = ReadKubeconfig("/dev/zero").status();
  EXPECT_EQ(alone.code(), absl::StatusCode::kInvalidArgument) << alone;
  EXPECT_EQ(alone.message(), "'/dev/zero' has more than 4194304 bytes: that is no kubeconfig, nor a token");
  EXPECT_EQ(ReadKubeconfigs("/nonexistent:/dev/zero").status(), alone);
}

TEST(KubeconfigTest, NoErrorHasThePasswordOfAServer) {
  const std::string text = R"({"current-context":"c","contexts":[{"name":"c","context":{"cluster":"k"}}],)"
                           R"("clusters":[{"name":"k","cluster":{"server":"ftp://me:se/c@ret@host:1"}}]})";
  EXPECT_EQ(ParseKubeconfig(text, ".").status().message(), "kubeconfig: server 'ftp://host:1' is no http or https URL");
}

TEST(KubeconfigTest, AnUnusableEntryIsNamed) {
  const struct {
    std::string text;
    const char* context;
    absl::StatusCode code;
    const char* message;
  } rows[] = {
      {kConfig, "old", absl::StatusCode::kUnimplemented, "users['old'].username is not supported"},
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
