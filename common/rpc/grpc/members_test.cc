// A caller states a member at Attach, Write, Get and ExportRecords. It must be the member of the certificate.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "basalt/replica/v1/replica.grpc.pb.h"
#include "common/identity/rights.h"
#include "common/rpc/grpc/call_guard.h"
#include "common/rpc/grpc/grpc_fixture.h"
#include "common/rpc/grpc/peers/replica.h"
#include "common/rpc/grpc/test_authority.h"
#include "common/testing/temp_dir.h"

namespace basalt::rpc {
namespace {

using identity::Role;
using ::testing::HasSubstr;

struct NoRecords final : ReplicaHandler {
  void ExportRecords(replica::v1::ExportRecordsRequest, Done<replica::v1::ExportRecordsResponse> done) override {
    done(replica::v1::ExportRecordsResponse());
  }
};

gateway::v1::Member Jobsvc(const std::string& replica) {
  gateway::v1::Member member;
  member.set_service(gateway::v1::SERVICE_KIND_JOB);
  member.set_replica(replica);
  return member;
}

class MembersTest : public ::testing::Test {
 public:  // The test's table names these calls.
  MembersTest() {
    const auto limiter = std::make_shared<InflightLimiter>();
    std::vector<std::unique_ptr<GrpcService>> services;
    services.push_back(MakeGatewayService(*loop_, gateway_, limiter, guard_));
    services.push_back(MakeReplicaService(*loop_, records_, limiter, guard_));
    auto server = GrpcServer::Start({.credentials = credentials_, .guard = guard_}, std::move(services));
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(
        "127.0.0.1:" + std::to_string(server_->port()),
        authority_.CredentialsOf(Role::kJobsvc, "jobsvc-0")->ForChannel(identity::Only({Role::kJobsvc})));
  }
  ~MembersTest() override {
    server_.reset();
    loop_.reset();
  }

  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  }
  grpc::Status Attach(const std::string& replica) {
    grpc::ClientContext context;
    SetDeadline(context);
    const auto stub = gateway::v1::GatewayService::NewStub(channel_);
    const auto stream = stub->Attach(&context);
    AttachRequest request;
    *request.mutable_hello()->mutable_self() = Jobsvc(replica);
    stream->Write(request);
    AttachBatch batch;
    if (stream->Read(&batch)) {
      context.TryCancel();
      stream->Finish();
      return grpc::Status::OK;
    }
    return stream->Finish();
  }
  grpc::Status Write(const std::string& replica) {
    WriteRequest request;
    *request.mutable_owner()->mutable_member() = Jobsvc(replica);
    return WriteStream(channel_).Write({request})[0];
  }
  grpc::Status Get(const std::string& replica) {
    grpc::ClientContext context;
    SetDeadline(context);
    gateway::v1::GetRequest request;
    *request.mutable_owner()->mutable_member() = Jobsvc(replica);
    gateway::v1::GetResponse response;
    return gateway::v1::GatewayService::NewStub(channel_)->Get(&context, request, &response);
  }
  grpc::Status Export(const gateway::v1::Member& owner, gateway::v1::ServiceKind source) {
    grpc::ClientContext context;
    SetDeadline(context);
    replica::v1::ExportRecordsRequest request;
    *request.mutable_owner() = owner;
    request.mutable_source()->set_service(source);
    replica::v1::ExportRecordsResponse response;
    return replica::v1::ReplicaService::NewStub(channel_)->ExportRecords(&context, request, &response);
  }

  const basalt::testing::TempDir folder_;
  const TestAuthority authority_{folder_.path(), "blue"};
  const std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
  std::unique_ptr<Loop> loop_ = MakeThreadLoop("server");
  FakeGateway gateway_{*loop_};
  NoRecords records_;
  // One process has both services, to save a second server: it is a jobsvc.
  const std::shared_ptr<const Credentials> credentials_ = authority_.CredentialsOf(Role::kJobsvc, "jobsvc-1");
  const std::shared_ptr<const CallGuard> guard_ = MakeCallGuard(credentials_, metrics_.get());
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(MembersTest, ACallerIsTheMemberOfItsCertificateAndNoOther) {
  using Call = grpc::Status (MembersTest::*)(const std::string&);
  for (const Call call : {&MembersTest::Attach, &MembersTest::Write, &MembersTest::Get}) {
    EXPECT_EQ((this->*call)("jobsvc-0").error_code(), grpc::StatusCode::OK);
    const grpc::Status refused = (this->*call)("jobsvc-1");
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(refused.error_message(),
              "the request is one of jobsvc 'jobsvc-1', and the certificate is that of jobsvc 'jobsvc-0'");
  }
  constexpr auto kJob = gateway::v1::SERVICE_KIND_JOB;
  EXPECT_TRUE(Export(Jobsvc("jobsvc-0"), kJob).ok());
  EXPECT_EQ(Export(Jobsvc("jobsvc-1"), kJob).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Export(Jobsvc("jobsvc-0"), gateway::v1::SERVICE_KIND_QUEUE).error_code(),
            grpc::StatusCode::PERMISSION_DENIED)
      << "records are for replicas of the same service";
  for (const char* rpc : {"GatewayService/Attach", "GatewayService/Write", "GatewayService/Get"}) {
    EXPECT_THAT(metrics_->Text(), HasSubstr(std::string("role=\"jobsvc\",rpc=\"basalt.gateway.v1.") + rpc + "\"} 1"));
  }
}

}  // namespace
}  // namespace basalt::rpc
