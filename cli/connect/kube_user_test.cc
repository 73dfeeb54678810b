#include "cli/connect/kube_user.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::cli {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

http::Environment Read(const Variables& variables) {
  return [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

TEST(ReadKubeUserTest, OptionsComeBeforeTheEnvironmentAndAFileBeforeThePod) {
  const basalt::testing::TempDir dir;
  const auto put = [&](const std::string& path, std::string_view token) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << fmt::format(
        "current-context: c\nclusters: [{{name: c, cluster: {{server: 'https://h'}}}}]\n"
        "users: [{{name: u, user: {{token: {0}}}}}, {{name: v, user: {{token: {0}-v}}}}]\n"
        "contexts: [{{name: c, context: {{cluster: c, user: u}}}}, {{name: d, context: {{cluster: c, user: v}}}}]\n",
        token);
  };
  put(dir / "given", "given");
  put(dir / "named", "named");
  put(dir / "home/.kube/config", "home");
  std::filesystem::create_directories(dir / "pod");
  std::ofstream(dir / "pod/token") << "pod";
  const std::pair<std::string, std::string> pod[] = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                                                     {"KUBERNETES_SERVICE_PORT", "443"}};
  const auto home = std::pair("HOME", dir / "home"), nobody = std::pair("HOME", dir / "nobody");
  const auto named = std::pair("KUBECONFIG", dir / "named"), missing = std::pair("KUBECONFIG", dir / "missing");
  const struct {
    KubeconfigOptions options;
    Variables environment;
    std::string token, name;  // `token` is empty for the service account of the pod.
  } rows[] = {
      {{.files = dir / "given"}, {home, named, pod[0], pod[1]}, "given", "the current context of " + dir / "given"},
      {{.files = dir / "given", .context = "d"}, {}, "given-v", "context d of " + dir / "given"},
      {{}, {home, named, pod[0], pod[1]}, "named", "the current context of " + dir / "named"},
      {{}, {home, pod[0], pod[1]}, "home", "the current context of " + dir / "home/.kube/config"},
      {{}, {nobody, pod[0], pod[1]}, "", "the service account of this pod"},
  };
  for (const auto& row : rows) {
    const auto user = ReadKubeUser(row.options, Read(row.environment), dir / "pod");
    ASSERT_THAT(user, IsOk());
    EXPECT_EQ(user->options.bearer_token, row.token);
    EXPECT_EQ(user->name, row.name);
    const auto proof = ProofOf(*user);
    ASSERT_THAT(proof, IsOk());
    EXPECT_EQ(proof->token, row.token.empty() ? "pod" : row.token);
  }
  const struct {
    KubeconfigOptions options;
    Variables environment;
    std::string words;
  } refused[] = {
      {{}, {nobody}, "no kubeconfig can be read at " + dir / "nobody/.kube/config"},
      {{}, {missing, home, pod[0], pod[1]}, "no kubeconfig can be read at " + dir / "missing"},
      {{.files = dir / "missing"}, {home, pod[0], pod[1]}, "no kubeconfig can be read at " + dir / "missing"},
      {{.context = "d"}, {nobody, pod[0], pod[1]}, "no kubeconfig can be read at " + dir / "nobody/.kube/config"},
      {{.files = dir / "given", .context = "e"}, {}, dir / "given: kubeconfig: contexts has no entry named 'e'"},
  };
  for (const auto& row : refused) {
    EXPECT_THAT(ReadKubeUser(row.options, Read(row.environment), dir / "pod"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(row.words)));
  }
}

TEST(CheckKubeUserTest, AUserHasAProofAndActsAsItself) {
  const struct {
    http::CurlOptions options;
    const char* refusal;  // Empty if the user is accepted.
  } rows[] = {
      {{.bearer_token = "t"}, ""},
      {{.bearer_token_file = "f"}, ""},
      {{.exec_plugin = http::ExecPlugin()}, ""},
      {{.cert_pem = "c"}, ""},
      {{.cert_file = "c"}, ""},
      {{},
       "context c of f has no user with a token, an exec plugin or a client certificate: name another with "
       "--kubeconfig or --context, or give --tls-cert-file and --tls-key-file"},
      {{.headers = {{"Impersonate-User", "jane"}, {"Impersonate-Group", "g"}}, .bearer_token = "t"},
       "the user of context c of f acts as another, as: jane, and the suite takes users as themselves alone: name "
       "another with --kubeconfig or --context, or give --tls-cert-file and --tls-key-file"},
  };
  for (const auto& row : rows) {
    const absl::Status status = CheckKubeUser({row.options, "context c of f"});
    EXPECT_EQ(status.message(), row.refusal);
    EXPECT_EQ(status.code(), row.refusal[0] == '\0' ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument);
  }
}

TEST(ProofOfTest, ATokenComesBeforeACertificate) {
  const basalt::testing::TempDir dir;
  std::ofstream(dir / "crt") << "crt";
  std::ofstream(dir / "key") << "key";
  std::ofstream(dir / "token") << " token\n";
  const struct {
    http::CurlOptions options;
    http::Identity proof;
  } rows[] = {
      {{.cert_file = dir / "crt", .key_file = dir / "key"}, {.cert_pem = "crt", .key_pem = "key"}},
      {{.cert_pem = "C", .key_file = dir / "key"}, {.cert_pem = "C", .key_pem = "key"}},
      {{.cert_file = dir / "crt", .key_file = dir / "key", .bearer_token = "t"}, {.token = "t"}},
      {{.cert_pem = "C", .key_pem = "K", .bearer_token = "t", .bearer_token_file = dir / "token"}, {.token = "token"}},
  };
  for (const auto& row : rows) {
    const auto proof = ProofOf({row.options, ""});
    ASSERT_THAT(proof, IsOk());
    EXPECT_EQ(*proof, row.proof);
  }
  EXPECT_THAT(ProofOf({{.bearer_token_file = dir / "none"}, ""}),
              StatusIs(absl::StatusCode::kUnauthenticated, AllOf(HasSubstr("no token"), HasSubstr(dir / "none"))));
  EXPECT_THAT(ProofOf({{.cert_file = dir / "none", .key_file = dir / "key"}, ""}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(dir / "none")));
}

}  // namespace
}  // namespace basalt::cli
