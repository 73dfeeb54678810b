// A gateway answers users' calls, and carries out replicas' writes in the name of users.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "common/identity/rights.h"
#include "common/rpc/grpc/call_guard.h"
#include "common/rpc/grpc/grpc_fixture.h"
#include "common/rpc/grpc/test_authority.h"
#include "common/rpc/grpc/user_credentials.h"
#include "common/rpc/grpc/users.h"
#include "common/testing/temp_dir.h"

namespace basalt::rpc {
namespace {

using ::testing::ElementsAre;

class UserCallsTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kTheGateway = identity::Only({identity::Role::kGateway});

  UserCallsTest() {
    guard_->users()->SetSuite(suite_.authorities());
    std::vector<std::unique_ptr<GrpcService>> services;
    services.push_back(MakeGatewayService(*loop_, gateway_, std::make_shared<InflightLimiter>(), guard_));
    auto server = GrpcServer::Start({.credentials = credentials_, .guard = guard_}, std::move(services));
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    address_ = fmt::format("127.0.0.1:{}", server_->port());
    replica_ = grpc::CreateChannel(address_,
                                   suite_.CredentialsOf(identity::Role::kJobsvc, "jobsvc-0")->ForChannel(kTheGateway));
  }
  ~UserCallsTest() override {
    server_.reset();
    loop_.reset();
  }

  static std::string TokenOf(const std::string& user, const TestAuthority& authority,
                             identity::Role role = identity::Role::kGateway, const std::string& cluster = "blue",
                             absl::Duration left = absl::Minutes(5)) {
    return MakeUserToken(user, cluster, ReadPair(authority.FilesOf(role, "signer")), left);
  }
  static WriteRequest WriteFor(const std::string& name, const std::string& token) {
    WriteRequest request;
    request.set_name(name);
    request.set_user_token(token);
    request.mutable_owner()->mutable_member()->set_service(gateway::v1::SERVICE_KIND_JOB);
    request.mutable_owner()->mutable_member()->set_replica("jobsvc-0");
    return request;
  }
  std::vector<std::string> Written() {
    return On(*loop_, [this] { return gateway_.written; });
  }
  // Makes each call over the same connection.
  grpc::Status Topology(const std::string& token, gateway::v1::Topology* topology) {
    user_->SetToken(token);
    return AskTopology(user_channel_, topology);
  }
  static grpc::Status AskTopology(const std::shared_ptr<grpc::Channel>& channel, gateway::v1::Topology* topology) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    gateway::v1::GetTopologyRequest request;
    request.set_slots_of(gateway::v1::SERVICE_KIND_JOB);
    return gateway::v1::GatewayService::NewStub(channel)->GetTopology(&context, request, topology);
  }

  const basalt::testing::TempDir folder_;
  const TestAuthority suite_{folder_ / "suite", "blue"};
  const TestAuthority next_{folder_ / "next", "blue"};
  const std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
  std::unique_ptr<Loop> loop_ = MakeThreadLoop("gateway");
  FakeGateway gateway_{*loop_};
  const std::shared_ptr<const Credentials> credentials_ = suite_.CredentialsOf(identity::Role::kGateway, "gateway-0");
  const std::shared_ptr<CallGuard> guard_ = MakeCallGuard(credentials_, metrics_.get(), TokenBucketOptions());
  std::unique_ptr<GrpcServer> server_;
  std::string address_;
  std::shared_ptr<grpc::Channel> replica_;
  const std::unique_ptr<UserCredentials> user_ =
      *UserCredentials::FromFile(suite_.FilesOf(identity::Role::kReader, "any").authorities, suite_.rules());
  std::shared_ptr<grpc::Channel> user_channel_;
};

TEST_F(UserCallsTest, AWriteForAUserWhoseTokenDoesNotCountIsRefusedAndTheOthersGoOn) {
  using identity::Role;
  guard_->SetDenied({"user:eve"});
  const struct {
    const char* name;
    std::string token;
    const char* why;  // Empty if the write is accepted.
  } cases[] = {
      {"of-nobody", "", ""},
      {"expired", TokenOf("ann", suite_, Role::kGateway, "blue", -absl::Seconds(1)),
       "the time of the user's token is over"},
      {"of-another-key", TokenOf("ann", next_), "not of an authority of this suite"},
      {"of-a-service", TokenOf("ann", suite_, Role::kJobsvc), "signed by the role jobsvc, and not by a gateway"},
      {"of-another-cluster", TokenOf("ann", suite_, Role::kGateway, "green"), "is one of cluster 'green'"},
      {"rubbish", "rubbish", "cannot be read"},
      {"denied", TokenOf("eve", suite_), "the user is denied"},
      {"of-ann", TokenOf("ann", suite_), ""},
  };
  std::vector<WriteRequest> requests;
  for (const auto& test : cases) requests.push_back(WriteFor(test.name, test.token));
  const std::vector<grpc::Status> statuses = WriteStream(replica_).Write(requests);
  for (size_t i = 0; i < statuses.size(); ++i) {
    const bool is_taken = cases[i].why[0] == '\0';
    EXPECT_EQ(statuses[i].error_code(), is_taken ? grpc::StatusCode::OK : grpc::StatusCode::PERMISSION_DENIED)
        << cases[i].name;
    EXPECT_THAT(statuses[i].error_message(), ::testing::HasSubstr(cases[i].why)) << cases[i].name;
  }
  EXPECT_THAT(Written(), ElementsAre("of-nobody", "of-ann"));
  EXPECT_THAT(metrics_->Text(),
              ::testing::HasSubstr(R"(reason="identity",role="none",rpc="basalt.gateway.v1.GatewayService/Write"} 6)"));
}

// The authorities of the suite are replaced while an older stream and connection go on.
TEST_F(UserCallsTest, NewAuthoritiesCountForTheNextCallOfAnOpenConnection) {
  const std::string by_old = TokenOf("ann", suite_);
  const std::string by_new = TokenOf("ann", next_);
  user_channel_ = grpc::CreateChannel(address_, user_->ForChannel(kTheGateway));
  WriteStream stream(replica_);
  const struct {
    std::string authorities;
    bool old_counts, new_counts;
  } steps[] = {
      {suite_.authority_pem(), true, false},
      {suite_.authority_pem() + next_.authority_pem(), true, true},
      {next_.authority_pem(), false, true},
  };
  for (const auto& step : steps) {
    guard_->users()->SetSuite(*identity::Authorities::FromPem(step.authorities));
    const std::vector<grpc::Status> written = stream.Write({WriteFor("a", by_old), WriteFor("b", by_new)});
    EXPECT_EQ(written[0].ok(), step.old_counts);
    EXPECT_EQ(written[1].ok(), step.new_counts);
    gateway::v1::Topology topology;
    EXPECT_EQ(Topology(by_old, &topology).error_code(),
              step.old_counts ? grpc::StatusCode::OK : grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(Topology(by_new, &topology).error_code(),
              step.new_counts ? grpc::StatusCode::OK : grpc::StatusCode::UNAUTHENTICATED);
  }
}

TEST_F(UserCallsTest, AUserLearnsWhereToCallAndNothingElse) {
  gateway::v1::Topology shown;
  shown.set_gateway("gateway-0");
  shown.set_version("1.2");
  shown.set_leads(true);
  shown.set_leader("gateway-0");
  shown.set_leader_address("10.0.0.1:7700");
  gateway::v1::MemberStatus& member = *shown.add_members();
  member.mutable_member()->set_service(gateway::v1::SERVICE_KIND_JOB);
  member.mutable_member()->set_replica("jobsvc-0");
  member.mutable_member()->set_address("10.0.0.2:7701");
  member.set_attached(true);
  gateway::v1::Topology all = shown;
  all.set_epoch(7);
  all.set_slot_count(1024);
  all.add_watches();
  all.add_moves()->set_to("jobsvc-1");
  all.add_slots();
  gateway::v1::MemberStatus& status = *all.mutable_members(0);
  status.mutable_member()->set_incarnation("first");
  status.set_slots(512);
  status.set_sent_sequence(3);
  status.set_acknowledged_sequence(2);
  status.set_dirty_keys(1);
  status.set_lag_ms(5);
  status.set_leaving(true);
  status.set_waiting_slots(4);
  status.set_version("1.1");
  status.mutable_protocols();
  On(*loop_, [&] { gateway_.topology = all; });
  user_channel_ = grpc::CreateChannel(address_, user_->ForChannel(kTheGateway));
  const auto asked_slots = [this] { return On(*loop_, [this] { return gateway_.asked_topology.slots_of(); }); };
  gateway::v1::Topology answer;
  ASSERT_TRUE(Topology(TokenOf("ann", suite_), &answer).ok());
  EXPECT_EQ(answer.DebugString(), shown.DebugString());
  EXPECT_EQ(asked_slots(), gateway::v1::SERVICE_KIND_UNSPECIFIED);
  ASSERT_TRUE(AskTopology(replica_, &answer).ok());
  EXPECT_EQ(answer.DebugString(), all.DebugString()) << "a member is told all";
  EXPECT_EQ(asked_slots(), gateway::v1::SERVICE_KIND_JOB);
}

TEST_F(GrpcTest, AGatewayWithoutUsersRefusesAWriteForOne) {
  WriteRequest request;
  request.set_name("a");
  request.set_user_token("token");
  const auto statuses = WriteStream(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials())).Write({request});
  EXPECT_EQ(statuses[0].error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(statuses[0].error_message(), "this gateway takes no users (--kubernetes_users)");
  EXPECT_TRUE(On(*server_loop_, [this] { return gateway_.written.empty(); }));
}

}  // namespace
}  // namespace basalt::rpc
