// Users of Kubernetes at a suite with TLS, by the commands that people type: which credentials each server receives,
// and which messages people get when a user cannot log in.
#include "cli/connect/user_session.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "basalt/gateway/v1/user.grpc.pb.h"
#include "basalt/job/v1/job.grpc.pb.h"
#include "cli/commands.h"
#include "cli/connect/served_fixture.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/rpc/grpc/call_guard.h"
#include "common/rpc/grpc/test_authority.h"
#include "common/rpc/grpc/user_token_key.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::cli {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using identity::Role;
using rpc::TestAuthority;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kSecret[] = "kubernetes-secret";
constexpr char kTokenUser[] = "{token: kubernetes-secret}";

// The tokens that the servers of a suite have issued, and a record of the calls with the credentials of each client.
// Any thread.
class Shown {
 public:
  // Records a call as "GetJob token 1", with the client's other credentials, and checks its token.
  grpc::Status Check(const grpc::ServerContext& context, const std::string& call) BASALT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const std::string token = TokenOf(context);
    calls_.push_back(fmt::format("{} token {}{}", call, token.empty() ? "-" : token.substr(2), Besides(context)));
    if (call == refused_call_ && refusals_ > 0) {
      --refusals_;
      revoked_ = issued_;
    }
    if (!token.empty() && token == MakeToken(issued_) && issued_ > revoked_) return grpc::Status::OK;
    return {grpc::StatusCode::UNAUTHENTICATED, "the token does not count"};
  }
  // Records "LogIn" with the client's credentials, and issues a token.
  grpc::Status LogIn(const grpc::ServerContext& context, const std::string& kubernetes_token,
                     gateway::v1::LogInResponse& response) BASALT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    calls_.push_back(fmt::format("LogIn{}{}{}", kubernetes_token.empty() ? "" : " " + kubernetes_token,
                                 TokenOf(context).empty() ? "" : " with a token of the suite", Besides(context)));
    if (!refusal_.ok()) return refusal_;
    if (issued_ > 0 && refused_call_ == "LogIn" && refusals_-- > 0) return {grpc::StatusCode::UNAVAILABLE, "away"};
    response.set_token(MakeToken(++issued_));
    response.set_user("ann");
    response.mutable_expire_time()->set_seconds(absl::ToUnixSeconds(expires_));
    return grpc::Status::OK;
  }

  void Refuse(grpc::Status refusal) BASALT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    refusal_ = std::move(refusal);
  }
  // Sets the end of the tokens that are issued from now on.
  void EndTokensAt(absl::Time expires) BASALT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    expires_ = expires;
  }
  // Refuses the next calls of this name, and revokes the tokens issued so far with each refusal. The first LogIn is
  // never refused; later ones are refused as if no API server answered.
  void RefuseCalls(std::string call, int refusals) BASALT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    refused_call_ = std::move(call);
    refusals_ = refusals;
  }
  void Revoke() BASALT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    revoked_ = issued_;
  }
  // Returns the calls since the last TakeCalls().
  std::vector<std::string> TakeCalls() BASALT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return std::exchange(calls_, {});
  }

 private:
  // The token is no valid text, to test that metadata of bytes arrives.
  static std::string MakeToken(int number) { return std::string("\0\xff", 2) + std::to_string(number); }
  static std::string TokenOf(const grpc::ServerContext& context) {
    const auto found = context.client_metadata().find(rpc::kUserTokenKey);
    return found == context.client_metadata().end() ? "" : std::string(found->second.data(), found->second.size());
  }
  static std::string Besides(const grpc::ServerContext& context) {
    std::string text;
    for (const grpc::string_ref& name : context.auth_context()->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME)) {
      text += fmt::format(" by the certificate of {}", std::string(name.data(), name.size()));
    }
    for (const auto& [key, value] : context.client_metadata()) {
      if (std::string(value.data(), value.size()).find(kSecret) != std::string::npos) text += " LEAKED";
    }
    return text;
  }

  Mutex mutex_;
  std::vector<std::string> calls_ BASALT_GUARDED_BY(mutex_);
  grpc::Status refusal_ BASALT_GUARDED_BY(mutex_);
  absl::Time expires_ BASALT_GUARDED_BY(mutex_) = absl::Now() + absl::Minutes(10);
  std::string refused_call_ BASALT_GUARDED_BY(mutex_);
  int refusals_ BASALT_GUARDED_BY(mutex_) = 0;
  int issued_ BASALT_GUARDED_BY(mutex_) = 0;
  int revoked_ BASALT_GUARDED_BY(mutex_) = 0;
};

class FakeUsers final : public gateway::v1::UserService::Service {
 public:
  explicit FakeUsers(Shown& shown) : shown_(shown) {}
  grpc::Status LogIn(grpc::ServerContext* context, const gateway::v1::LogInRequest* request,
                     gateway::v1::LogInResponse* response) override {
    return shown_.LogIn(*context, request->kubernetes_token(), *response);
  }

 private:
  Shown& shown_;
};

// A gateway whose topology has one jobsvc.
class UserGateway final : public gateway::v1::GatewayService::Service {
 public:
  UserGateway(Shown& shown, std::string jobsvc) : shown_(shown), jobsvc_(std::move(jobsvc)) {}
  grpc::Status GetTopology(grpc::ServerContext* context, const gateway::v1::GetTopologyRequest*,
                           gateway::v1::Topology* response) override {
    response->set_leads(true);
    gateway::v1::MemberStatus& status = *response->add_members();
    status.set_attached(true);
    status.mutable_member()->set_service(gateway::v1::SERVICE_KIND_JOB);
    status.mutable_member()->set_replica("jobsvc-0");
    status.mutable_member()->set_address(jobsvc_);
    return shown_.Check(*context, "GetTopology");
  }

 private:
  Shown& shown_;
  const std::string jobsvc_;
};

// The first watch of a job reports it Running and ends as its token does. The next watch reports it Completed.
class UserJobs final : public job::v1::JobService::Service {
 public:
  explicit UserJobs(Shown& shown) : shown_(shown) {}
  grpc::Status GetJob(grpc::ServerContext* context, const job::v1::GetJobRequest*, job::v1::Job*) override {
    return shown_.Check(*context, "GetJob");
  }
  grpc::Status DeleteJob(grpc::ServerContext* context, const job::v1::DeleteJobRequest*,
                         job::v1::DeleteJobResponse*) override {
    return shown_.Check(*context, "DeleteJob");
  }
  grpc::Status WatchJobs(grpc::ServerContext* context, const job::v1::WatchJobsRequest* request,
                         grpc::ServerWriter<job::v1::WatchJobsResponse>* writer) override {
    if (grpc::Status status = shown_.Check(*context, "WatchJobs"); !status.ok()) return status;
    const bool is_first = request->token().empty();
    job::v1::WatchJobsResponse response;
    response.set_type(job::v1::WatchJobsResponse::TYPE_STATE);
    response.set_token("seen");
    response.mutable_job()->mutable_object()->mutable_meta()->set_name(request->name());
    response.mutable_job()->mutable_object()->mutable_meta()->set_namespace_(request->namespace_());
    response.mutable_job()->mutable_object()->mutable_meta()->set_uid("u");
    response.mutable_job()->mutable_object()->mutable_status()->set_phase(is_first ? kube::v1::JOB_PHASE_RUNNING
                                                                                   : kube::v1::JOB_PHASE_COMPLETED);
    writer->Write(response);
    if (is_first) shown_.Revoke();
    return {grpc::StatusCode::UNAUTHENTICATED, "the time of the token is over"};
  }

 private:
  Shown& shown_;
};

class UserSessionTest : public ServedTest {
 protected:
  UserSessionTest() {
    jobsvc_ =
        Start(authority_.OpenServerOf(Role::kJobsvc, "jobsvc-0"), MakeServices(std::make_unique<UserJobs>(shown_)));
    gateway_ = StartGateway(Role::kGateway);
  }
  ~UserSessionTest() override {
    for (const auto& server : servers_) server->Shutdown();
  }

  using Services = std::vector<std::unique_ptr<grpc::Service>>;
  template <typename... Service>
  static Services MakeServices(std::unique_ptr<Service>... service) {
    Services services;
    (services.push_back(std::move(service)), ...);
    return services;
  }
  // Serves `services` until the test ends. Returns the address.
  std::string Start(const std::shared_ptr<grpc::ServerCredentials>& credentials, Services services) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", credentials, &port);
    for (auto& service : services) {
      builder.RegisterService(service.get());
      services_.push_back(std::move(service));
    }
    servers_.push_back(builder.BuildAndStart());
    return fmt::format("127.0.0.1:{}", port);
  }
  // Starts a gateway that has a certificate of this role. Returns the address.
  std::string StartGateway(Role role) {
    return Start(authority_.OpenServerOf(role, fmt::format("server-{}", servers_.size())),
                 MakeServices(std::make_unique<FakeUsers>(shown_), std::make_unique<UserGateway>(shown_, jobsvc_)));
  }

  // Writes a kubeconfig with this user, given in YAML's flow form. Returns the path.
  std::string Kubeconfig(std::string_view user) {
    const std::string path = folder_ / fmt::format("kubeconfig-{}", ++files_);
    std::ofstream(path) << fmt::format(
        "current-context: c\nclusters: [{{name: c, cluster: {{server: 'https://h'}}}}]\nusers: [{{name: u, user: "
        "{}}}]\n"
        "contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n",
        user);
    return path;
  }
  std::string ca_file() const { return authority_.FilesOf(Role::kReader, "any").authorities; }

  // Runs a command as the user of a kubeconfig, at the gateway of the fixture or at `gateways`.
  Ran RunAs(std::string_view user, std::vector<std::string> words, const std::string& gateways = "") {
    words.insert(words.begin(), {"--tls-ca-file", ca_file(), "--kubeconfig", Kubeconfig(user)});
    return Run(std::move(words), gateways);
  }
  Ran Run(std::vector<std::string> words, const std::string& gateways = "") {
    words.insert(words.begin(),
                 {"basaltctl", "--cluster", "blue", "--gateway", gateways.empty() ? gateway_ : gateways});
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    return Captured([&] { return Main(static_cast<int>(arguments.size()), arguments.data()); });
  }

  const basalt::testing::TempDir folder_;
  const TestAuthority authority_{folder_.path(), "blue"};
  Shown shown_;
  std::string jobsvc_;
  std::string gateway_;

 private:
  Services services_;
  std::vector<std::unique_ptr<grpc::Server>> servers_;
  int files_ = 0;
};

TEST_F(UserSessionTest, ATokenGoesToTheGatewayAloneAndAllOtherCallsCarryThatOfTheSuite) {
  std::ofstream(folder_ / "token") << kSecret << "\n";
  for (const std::string& user : {std::string(kTokenUser), fmt::format("{{tokenFile: '{}'}}", folder_ / "token")}) {
    const Ran ran = RunAs(user, {"job", "get", "j"});
    EXPECT_EQ(ran.exit_code, kExitDone) << ran.err;
    const std::vector<std::string> calls = shown_.TakeCalls();
    ASSERT_EQ(calls.size(), 3U);
    const std::string token = calls[1].substr(std::string("GetTopology ").size());
    EXPECT_THAT(calls, ElementsAre(fmt::format("LogIn {}", kSecret), "GetTopology " + token, "GetJob " + token));
  }
}

TEST_F(UserSessionTest, APluginIsRunAgainForEachLogIn) {
  const std::string plugin = folder_ / "plugin";
  std::ofstream(plugin) << fmt::format(
      "#!/bin/sh\necho run >> '{0}'\nruns=$(wc -l < '{0}')\n"
      "echo '{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
      "\"status\":{{\"token\":\"{1}-'$runs'\"}}}}'\n",
      folder_ / "runs", kSecret);
  std::filesystem::permissions(plugin, std::filesystem::perms::owner_all);
  const std::string user = fmt::format(
      "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: '{}', interactiveMode: Never}}}}", plugin);
  shown_.RefuseCalls("GetJob", 1);
  EXPECT_EQ(RunAs(user, {"job", "get", "j"}).exit_code, kExitDone);
  EXPECT_THAT(shown_.TakeCalls(), ElementsAre("LogIn kubernetes-secret-1", "GetTopology token 1", "GetJob token 1",
                                              "LogIn kubernetes-secret-2", "GetJob token 2"));
  std::ofstream(plugin) << "#!/bin/sh\necho no network >&2; exit 3\n";
  const Ran ran = RunAs(user, {"job", "get", "j"});
  EXPECT_EQ(ran.exit_code, kExitRefused);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("the user of the current context of /"), HasSubstr("cannot log in: exec plugin"),
                             HasSubstr("no network")));
  EXPECT_THAT(shown_.TakeCalls(), IsEmpty());
}

TEST_F(UserSessionTest, ACertificateIsShownAtTheLogInAlone) {
  // The certificate is signed by the cluster's own authority, not by the suite's.
  const http::testing::Certificate ann = http::testing::MakeCertificate({.common_name = "ann"});
  std::ofstream(folder_ / "ann.crt") << ann.cert_pem;
  std::ofstream(folder_ / "ann.key") << ann.key_pem;
  const std::string users[] = {
      fmt::format("{{client-certificate: '{}', client-key: '{}'}}", folder_ / "ann.crt", folder_ / "ann.key"),
      fmt::format("{{client-certificate-data: {}, client-key-data: {}}}", absl::Base64Escape(ann.cert_pem),
                  absl::Base64Escape(ann.key_pem))};
  for (const std::string& user : users) {
    const Ran ran = RunAs(user, {"job", "get", "j"});
    EXPECT_EQ(ran.exit_code, kExitDone) << ran.err;
    const std::vector<std::string> calls = shown_.TakeCalls();
    ASSERT_EQ(calls.size(), 3U);
    EXPECT_EQ(calls[0], "LogIn by the certificate of ann");
    for (const std::string& call : {calls[1], calls[2]}) EXPECT_THAT(call, ::testing::Not(HasSubstr("certificate")));
  }
  const std::string wrong = fmt::format("{{client-certificate: '{}', client-key: '{}'}}", folder_ / "ann.crt",
                                        authority_.FilesOf(Role::kReader, "other").key);
  const Ran ran = RunAs(wrong, {"job", "get", "j"});
  EXPECT_EQ(ran.exit_code, kExitBadInput);
  EXPECT_THAT(ran.err, HasSubstr("not that of the certificate"));
  EXPECT_THAT(shown_.TakeCalls(), IsEmpty());
}

TEST_F(UserSessionTest, AServerThatIsNoGatewayIsShownNothing) {
  const std::string impostor = StartGateway(Role::kJobsvc);
  Ran ran = RunAs(kTokenUser, {"job", "get", "j"}, impostor);
  EXPECT_EQ(ran.exit_code, kExitRefused);
  EXPECT_THAT(ran.err, HasSubstr(fmt::format("the gateway at {} does not answer", impostor)));
  EXPECT_THAT(shown_.TakeCalls(), IsEmpty());
  ran = RunAs(kTokenUser, {"job", "get", "j"}, fmt::format("127.0.0.1:1,dns:///{},{}", impostor, gateway_));
  EXPECT_EQ(ran.exit_code, kExitDone) << ran.err;
  EXPECT_THAT(shown_.TakeCalls(), ElementsAre("LogIn kubernetes-secret", "GetTopology token 1", "GetJob token 1"));
}

TEST_F(UserSessionTest, ATokenIsRenewedAMinuteBeforeItEnds) {
  const absl::Time end = absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now())) + absl::Minutes(10);
  shown_.EndTokensAt(end);
  auto credentials = rpc::UserCredentials::FromFile(ca_file(), authority_.rules());
  ASSERT_THAT(credentials, IsOk());
  UserSession session({.options = {.bearer_token = kSecret}, .name = "u"}, *std::move(credentials));
  EXPECT_EQ(session.expires(), absl::InfinitePast());
  const auto logs_in = [&](absl::Time now) {
    EXPECT_THAT(session.LogIn(gateway_, now), IsOk());
    return shown_.TakeCalls().size();
  };
  EXPECT_EQ(logs_in(end - absl::Minutes(10)), 1U);
  EXPECT_EQ(session.user(), "ann");
  EXPECT_EQ(session.expires(), end);
  EXPECT_EQ(logs_in(end - absl::Seconds(61)), 0U);
  EXPECT_EQ(logs_in(end - absl::Seconds(60)), 1U);
  // If no gateway answers, or one refuses, the token serves until its end.
  EXPECT_THAT(session.LogIn("127.0.0.1:1", end - absl::Seconds(1)), IsOk());
  EXPECT_THAT(session.LogIn("127.0.0.1:1", end), StatusIs(absl::StatusCode::kUnavailable));
  shown_.Refuse({grpc::StatusCode::UNAUTHENTICATED, "not any more"});
  EXPECT_EQ(logs_in(end - absl::Seconds(1)), 1U);
  EXPECT_THAT(session.LogIn(gateway_, end), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not any more")));
  EXPECT_THAT(session.LogIn("nowhere", end), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--gateway")));
  // A forgotten token does not serve any longer.
  shown_.Refuse(grpc::Status::OK);
  EXPECT_EQ(logs_in(end), 2U);
  session.Forget();
  EXPECT_FALSE(session.LogIn("127.0.0.1:1", end - absl::Minutes(5)).ok());
}

TEST_F(UserSessionTest, ARefusedCallIsMadeOnceMoreWithAnotherToken) {
  const struct {
    std::vector<std::string> words;
    const char* call;
    int refusals;
    int exit_code;
    std::vector<std::string> calls;  // The calls after the first LogIn.
  } rows[] = {
      {{"job", "get", "j"}, "GetTopology", 1, kExitDone, {"GetTopology", "LogIn", "GetTopology", "GetJob"}},
      {{"job", "get", "j"}, "GetTopology", 2, kExitRefused, {"GetTopology", "LogIn", "GetTopology"}},
      {{"job", "get", "j"}, "GetJob", 1, kExitDone, {"GetTopology", "GetJob", "LogIn", "GetJob"}},
      {{"job", "get", "j"}, "GetJob", 2, kExitRefused, {"GetTopology", "GetJob", "LogIn", "GetJob"}},
      {{"job", "delete", "j"}, "DeleteJob", 1, kExitDone, {"GetTopology", "DeleteJob", "LogIn", "DeleteJob"}},
      {{"job", "wait", "j", "--for", "Completed", "--timeout", "30s"},
       "",
       0,
       kExitDone,
       {"GetTopology", "WatchJobs", "LogIn", "WatchJobs"}},
      {{"job", "wait", "j", "--for", "Completed", "--timeout", "30s"},
       "WatchJobs",
       2,
       kExitRefused,
       {"GetTopology", "WatchJobs", "LogIn", "WatchJobs"}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", row.call, row.refusals));
    shown_.RefuseCalls(row.call, row.refusals);
    const Ran ran = RunAs(kTokenUser, row.words);
    EXPECT_EQ(ran.exit_code, row.exit_code) << ran.err;
    EXPECT_EQ(ran.err.find("the token does not count") != ran.err.npos, row.exit_code == kExitRefused) << ran.err;
    std::vector<std::string> calls = shown_.TakeCalls();
    for (std::string& call : calls) call = call.substr(0, call.find(' '));
    std::vector<std::string> wanted = {"LogIn"};
    wanted.insert(wanted.end(), row.calls.begin(), row.calls.end());
    EXPECT_EQ(calls, wanted);
  }
}

TEST_F(UserSessionTest, AWatchGoesOnOnceAGatewayTakesTheUserAgain) {
  shown_.RefuseCalls("LogIn", 1);
  const Ran ran = RunAs(kTokenUser, {"job", "wait", "j", "--for", "Completed", "--timeout", "30s"});
  EXPECT_EQ(ran.exit_code, kExitDone) << ran.err;
  EXPECT_THAT(shown_.TakeCalls(), ElementsAre("LogIn kubernetes-secret", "GetTopology token 1", "WatchJobs token 1",
                                              "LogIn kubernetes-secret", "LogIn kubernetes-secret",
                                              "GetTopology token 2", "WatchJobs token 2"));
}

TEST_F(UserSessionTest, AKubeconfigThatNamesNobodyOrAnotherIsRefused) {
  const struct {
    const char* user;
    const char* words;
  } rows[] = {
      {"{}", "has no user with a token, an exec plugin or a client certificate: name another with --kubeconfig"},
      {"{token: kubernetes-secret, as: jane}", "acts as another, as: jane"},
      {"{token: kubernetes-secret, as: jane, as-groups: [admins]}", "acts as another, as: jane"},
      {"{client-certificate: ann.crt}", "users['u'] has a client certificate without a key"},
  };
  for (const auto& row : rows) {
    const Ran ran = RunAs(row.user, {"job", "get", "j"});
    EXPECT_EQ(ran.exit_code, kExitBadInput);
    EXPECT_THAT(ran.err, AllOf(HasSubstr(row.words), HasSubstr(folder_.path() + "/kubeconfig-")));
  }
  const Ran ran = Run({"--tls-ca-file", ca_file(), "--kubeconfig", folder_ / "none", "job", "get", "j"});
  EXPECT_EQ(ran.exit_code, kExitBadInput);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--tls-ca-file alone means the user of the kubeconfig"),
                             HasSubstr(fmt::format("no kubeconfig can be read at {}", folder_ / "none"))));
  EXPECT_THAT(shown_.TakeCalls(), IsEmpty());
}

TEST_F(UserSessionTest, AGatewayWithoutUsersIsNamedWithItsFlag) {
  const auto credentials = authority_.CredentialsOf(Role::kGateway, "gateway-9");
  const std::string of_members = Start(credentials->ForServer(rpc::MakeCallGuard(credentials, nullptr)),
                                       MakeServices(std::make_unique<FakeUsers>(shown_)));
  const std::string older = Start(authority_.OpenServerOf(Role::kGateway, "gateway-8"),
                                  MakeServices(std::make_unique<UserGateway>(shown_, jobsvc_)));
  for (const std::string& gateway : {of_members, older}) {
    const Ran ran = RunAs(kTokenUser, {"topology"}, gateway);
    EXPECT_EQ(ran.exit_code, kExitRefused);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("the gateway at " + gateway),
                               HasSubstr("takes no users of Kubernetes (--kubernetes_users)"),
                               HasSubstr("name it with --gateway or BASALT_GATEWAY")));
  }
  EXPECT_THAT(shown_.TakeCalls(), IsEmpty());
}

TEST(RefusalTextTest, EachAnswerHasItsWords) {
  const struct {
    grpc::StatusCode code;
    const char* text;
  } rows[] = {
      {grpc::StatusCode::UNAVAILABLE,
       "the gateway at g:1 does not answer, or takes no users of Kubernetes (--kubernetes_users): why"},
      {grpc::StatusCode::DEADLINE_EXCEEDED,
       "the gateway at g:1 does not answer, or takes no users of Kubernetes (--kubernetes_users): why"},
      {grpc::StatusCode::UNIMPLEMENTED, "the gateway at g:1 takes no users of Kubernetes (--kubernetes_users)"},
      {grpc::StatusCode::UNAUTHENTICATED,
       "the gateway at g:1 does not know the user, or takes no users of Kubernetes (--kubernetes_users): why"},
      {grpc::StatusCode::PERMISSION_DENIED, "the gateway at g:1 refuses the user: why"},
      {grpc::StatusCode::FAILED_PRECONDITION, "the gateway at g:1 refuses the user: why"},
  };
  for (const auto& row : rows) EXPECT_EQ(RefusalText("g:1", {row.code, "why"}), row.text);
}

TEST_F(UserSessionTest, TheFilesSayWhoCalls) {
  const rpc::TlsFiles files = authority_.FilesOf(Role::kOperator, "someone");
  const std::vector<std::string> cert = {"--tls-cert-file", files.certificate};
  const std::vector<std::string> key = {"--tls-key-file", files.key};
  const std::vector<std::string> ca = {"--tls-ca-file", files.authorities};
  const struct {
    std::vector<std::vector<std::string>> options;
    const char* call;  // The first call at a server. Empty if the options do not go together.
  } rows[] = {
      {{cert, key, ca}, "GetTopology token - by the certificate of someone"},
      {{ca}, "LogIn kubernetes-secret"},
      {{cert}, ""},
      {{key}, ""},
      {{cert, key}, ""},
      {{cert, ca}, ""},
      {{key, ca}, ""},
  };
  const std::string kubeconfig = Kubeconfig(kTokenUser);
  for (const auto& row : rows) {
    std::vector<std::string> words = {"--kubeconfig", kubeconfig, "topology"};
    for (const auto& option : row.options) words.insert(words.begin(), option.begin(), option.end());
    const Ran ran = Run(words);
    const std::vector<std::string> calls = shown_.TakeCalls();
    if (row.call[0] == '\0') {
      EXPECT_EQ(ran.exit_code, kExitBadInput);
      EXPECT_THAT(ran.err, HasSubstr("--tls-cert-file, --tls-key-file and --tls-ca-file belong together"));
      EXPECT_THAT(calls, IsEmpty());
    } else {
      ASSERT_FALSE(calls.empty()) << ran.err;
      EXPECT_EQ(calls.front(), row.call);
    }
  }
}

TEST_F(UserSessionTest, WhoAmINamesTheUserAndTheEndOfTheToken) {
  shown_.EndTokensAt(absl::FromUnixSeconds(4'000'000'000));
  Ran ran = RunAs(kTokenUser, {"whoami"});
  EXPECT_EQ(ran.out, "user ann of Kubernetes; the token ends 2096-10-02T07:06:40+00:00\n") << ran.err;
  const rpc::TlsFiles files = authority_.FilesOf(Role::kOperator, "someone");
  ran = Run({"--tls-cert-file", files.certificate, "--tls-key-file", files.key, "--tls-ca-file", files.authorities,
             "whoami"});
  EXPECT_EQ(ran.out, "operator someone by the certificate\n") << ran.err;
  EXPECT_EQ(Run({"whoami"}).out, "nobody: channels without TLS state no identity\n");
}

}  // namespace
}  // namespace basalt::cli
