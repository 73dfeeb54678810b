#include "common/http/credentials/exec_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <future>

#include "common/http/credentials/run_command.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::http {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParseExecCredentialTest, TakesATokenOrACertificateOrBoth) {
  const auto token = ParseExecCredential(
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",
          "status":{"token":"t","expirationTimestamp":"2026-03-01T10:00:00Z"}})",
      kExecV1);
  ASSERT_THAT(token, IsOk());
  EXPECT_EQ(token->identity.token, "t");
  EXPECT_EQ(absl::FormatTime(absl::RFC3339_sec, token->expires, absl::UTCTimeZone()), "2026-03-01T10:00:00+00:00");
  const auto pair = ParseExecCredential(
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",
          "status":{"clientCertificateData":"C","clientKeyData":"K"}})",
      kExecV1Beta1);
  ASSERT_THAT(pair, IsOk());
  EXPECT_EQ(pair->identity.cert_pem, "C");
  EXPECT_EQ(pair->identity.key_pem, "K");
  EXPECT_EQ(pair->expires, absl::InfiniteFuture());
}

TEST(ParseExecCredentialTest, AnUnusableCredentialIsNamedWithoutTheSecret) {
  const struct {
    const char* body;
    const char* message;
  } rows[] = {
      {"tok-secret", "no JSON object"},
      {R"(["tok-secret"])", "no JSON object"},
      {R"({"kind":"Pod"})", "kind is not ExecCredential"},
      {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"x"}})",
       "apiVersion is 'client.authentication.k8s.io/v1beta1'"},
      {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"})", "no status"},
      {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{}})", "neither a token"},
      {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",
           "status":{"token":"tok-secret","clientKeyData":"tok-secret"}})",
       "come together"},
      {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",
           "status":{"token":"tok-secret\r\nImpersonate-User: admin"}})",
       "line break"},
      {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",
           "status":{"token":"tok-secret","expirationTimestamp":"tomorrow"}})",
       "expirationTimestamp"},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(ParseExecCredential(row.body, kExecV1),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr(row.message), Not(HasSubstr("tok-")))));
  }
}

class ExecPluginTest : public ::testing::Test {
 protected:
  // Returns a plugin that runs this shell script.
  ExecPlugin Plugin(const std::string& script) {
    const std::string path = dir_ / "plugin";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), 0700);
    ExecPlugin plugin;
    plugin.api_version = kExecV1;
    plugin.command = path;
    return plugin;
  }
  static absl::StatusOr<FetchedIdentity> Run(ExecPlugin plugin) {
    const auto source = MakeExecSource(std::move(plugin));
    std::promise<absl::StatusOr<FetchedIdentity>> got;
    source->Fetch([&](absl::StatusOr<FetchedIdentity> fetched) { got.set_value(std::move(fetched)); });
    return got.get_future().get();
  }

  basalt::testing::TempDir dir_;
};

TEST_F(ExecPluginTest, IsToldOfTheClusterAndGivesAToken) {
  ExecPlugin plugin = Plugin(R"(printf '%s' "$KUBERNETES_EXEC_INFO" >"$OUT/info"
[ -t 0 ] && exit 9
printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s-%s"}}' "$1" "$WHO")");
  plugin.arguments = {"hello"};
  plugin.environment = {{"WHO", "world"}, {"OUT", dir_.path()}};
  plugin.cluster_info = R"({"server":"https://h"})";
  const auto got = Run(plugin);
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ(got->identity.token, "hello-world");
  std::ifstream file(dir_ / "info");
  const std::string info((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(info, R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
                  R"("spec":{"interactive":false,"cluster":{"server":"https://h"}}})");
}

TEST_F(ExecPluginTest, AFailureHasItsStatusAndWhatItSaid) {
  EXPECT_THAT(Run(Plugin("echo 'log in first' >&2; exit 3")),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("exit status 3"), HasSubstr("log in first"), HasSubstr("/plugin'"))));
  EXPECT_THAT(Run(Plugin("kill -9 $$")), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("signal 9")));
  EXPECT_THAT(Run(Plugin("echo nonsense")), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("no JSON object")));
}

// A process that ignores SIGCHLD, as its own parent may have made it do, never learns how its children ended.
TEST_F(ExecPluginTest, AnUnknownExitStatusIsAFailure) {
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGCHLD, &ignore, &before), 0);
  Command command;
  command.words = {"sh", "-c", "echo 'log in first' >&2; exit 3"};
  const CommandStop stop;
  const auto got = RunCommand(command, stop);
  ASSERT_EQ(sigaction(SIGCHLD, &before, nullptr), 0);
  EXPECT_THAT(got, StatusIs(absl::StatusCode::kUnknown,
                            AllOf(HasSubstr("the exit status of 'sh' cannot be read"), HasSubstr("log in first"))));
}

TEST_F(ExecPluginTest, OneThatIsNotThereGivesItsHint) {
  ExecPlugin plugin = Plugin("");
  plugin.command = "basalt-no-such-plugin";
  plugin.install_hint = "get it from the package foo";
  EXPECT_THAT(Run(plugin),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("basalt-no-such-plugin"), HasSubstr("get it from the package foo"))));
}

TEST_F(ExecPluginTest, OneThatHangsIsKilledWithAllThatItStarted) {
  ExecPlugin plugin = Plugin("sleep 1000 & echo $! >\"$OUT/pid\"; wait");
  plugin.environment = {{"OUT", dir_.path()}};
  plugin.limit = absl::Milliseconds(300);
  EXPECT_THAT(Run(plugin), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("did not end within 300ms")));
  std::string pid, words;
  std::ifstream(dir_ / "pid") >> pid;
  ASSERT_FALSE(pid.empty());
  do {
    words.clear();
    std::ifstream("/proc/" + pid + "/cmdline") >> words;
    poll(nullptr, 0, 5);
  } while (words.find("sleep") != std::string::npos);
  plugin = Plugin("exec >&- 2>&-; exec sleep 1000");
  plugin.limit = absl::Milliseconds(300);
  EXPECT_THAT(Run(plugin), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("did not end within 300ms")))
      << "also one that has closed its output";
}

TEST_F(ExecPluginTest, EndingTheSourceEndsThePlugin) {
  auto source = MakeExecSource(Plugin("exec sleep 1000"));
  std::promise<absl::StatusOr<FetchedIdentity>> got;
  source->Fetch([&](absl::StatusOr<FetchedIdentity> fetched) { got.set_value(std::move(fetched)); });
  source.reset();
  EXPECT_THAT(got.get_future().get(), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("stopped")));
}

TEST_F(ExecPluginTest, TooMuchOutputEndsIt) {
  Command command;
  command.words = {"/bin/sh", "-c",
                   "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done"};
  command.max_output = 10'000;
  const CommandStop stop;
  EXPECT_THAT(RunCommand(command, stop), StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace basalt::http
