// The suite reviews every RPC that a user of Kubernetes may call. kubesim serves no reviews, so that every such call
// must be refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <set>
#include <string>

#include "absl/time/clock.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/job/v1/job.pb.h"
#include "basalt/podgroup/v1/pod_group_query.pb.h"
#include "basalt/queue/v1/queue.pb.h"
#include "common/identity/identity.h"
#include "common/identity/rights.h"
#include "common/identity/user_token.h"
#include "common/rpc/grpc/status_bridge.h"
#include "common/rpc/grpc/user_credentials.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

using ::testing::HasSubstr;
using Kind = identity::UserRight::Kind;

constexpr char kJob[] =
    R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"x","namespace":"team-a"},"spec":)"
    R"({"tasks":[{"name":"t","replicas":1,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}]}})";
constexpr char kQueue[] =
    R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"x"},"spec":{"weight":1}})";

// Returns a request that names an object as far as requests of the RPC can.
std::string RequestOf(const identity::Right& right) {
  const std::string package(right.service.substr(0, right.service.rfind('.') + 1));
  const auto* const type = google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
      package + std::string(right.method) + "Request");
  if (type == nullptr) return "";
  const std::unique_ptr<google::protobuf::Message> request(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
  const auto set = [&](const char* field, const char* text) {
    const auto* const found = type->FindFieldByName(field);
    if (found != nullptr) request->GetReflection()->SetString(request.get(), found, text);
  };
  set("namespace", "team-a");
  set("name", "x");
  set("manifest_json", right.method == "CreateQueue" ? kQueue : kJob);
  set("action", right.method == "CommandQueue" ? "CloseQueue" : "AbortJob");
  return request->SerializeAsString();
}

class UserRowsTest : public ::testing::Test {
 protected:
  UserRowsTest() {
    WorldOptions options;
    options.suite_flags = {"--kubernetes_users"};
    world_ = std::make_unique<World>(options);
  }

  // Returns a token that is signed as the gateway of the suite signs tokens.
  std::string Token() const {
    const std::string folder = world_->suite().certificates_dir() + "/gateway/gateway-0";
    gateway::v1::UserClaims claims;
    claims.set_cluster("default");
    claims.set_user("ann");
    claims.mutable_issue_time()->set_seconds(absl::ToUnixSeconds(absl::Now()));
    claims.mutable_expire_time()->set_seconds(absl::ToUnixSeconds(absl::Now() + absl::Minutes(5)));
    const auto token = identity::SignUserToken(claims, {ReadFile(folder + "/tls.crt"), ReadFile(folder + "/tls.key")});
    EXPECT_TRUE(token.ok()) << token.status();
    return token.value_or("");
  }
  std::string AddressOf(const identity::Right& right) const {
    const char* const process = right.service.find(".job.") != std::string_view::npos        ? "jobsvc-0"
                                : right.service.find(".podgroup.") != std::string_view::npos ? "pgsvc-0"
                                : right.service.find(".queue.") != std::string_view::npos    ? "queuesvc-0"
                                                                                             : "gateway-0";
    return world_->suite().address(process);
  }
  // Makes a call with one request, and waits for the answer or the first message of the stream.
  grpc::Status Call(const identity::Right& right, const std::string& token) const {
    const auto user = rpc::UserCredentials::FromFile(world_->suite().certificates_dir() + "/operator/operator/ca.crt",
                                                     identity::IdentityRules("basalt.local", "default"));
    EXPECT_TRUE(user.ok()) << user.status();
    (*user)->SetToken(token);
    grpc::GenericStub stub(grpc::CreateChannel(AddressOf(right), (*user)->ForChannel(~0U)));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    context.AddMetadata("basalt-forwarded", "jobsvc-9");  // The header makes no caller a member.
    grpc::CompletionQueue queue;
    const auto wait = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      queue.Next(&tag, &ok);
      return ok;
    };
    const auto call = stub.PrepareCall(&context, fmt::format("/{}/{}", right.service, right.method), &queue);
    call->StartCall(nullptr);
    wait();
    const grpc::Slice slice(RequestOf(right));
    call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
    wait();
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    const bool has_answer = wait();
    if (has_answer) context.TryCancel();
    grpc::Status status;
    call->Finish(&status, nullptr);
    wait();
    return has_answer ? grpc::Status::OK : status;
  }

  std::unique_ptr<World> world_;
};

TEST_F(UserRowsTest, NoRpcDoesAnythingForAUserBeforeTheRightIsReviewed) {
  ASSERT_TRUE(world_->ok());
  const std::string token = Token();
  int reviewed = 0;
  for (const identity::Right& right : identity::AllRights()) {
    SCOPED_TRACE(fmt::format("{}/{}", right.service, right.method));
    if (right.method == "*") continue;
    const grpc::Status status = Call(right, token);
    switch (right.users.kind) {
      case Kind::kNone:
        EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << status.error_message();
        EXPECT_THAT(status.error_message(), HasSubstr("users may not call"));
        break;
      case Kind::kAnybody:
        EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << status.error_message();
        break;
      case Kind::kEveryUser:
        EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
        break;
      case Kind::kKubernetes:
        ++reviewed;
        EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
        EXPECT_THAT(status.error_message(), HasSubstr("the rights of the user cannot be reviewed"));
    }
    EXPECT_EQ(Call(right, "rubbish").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
  EXPECT_GT(reviewed, 20);
}

}  // namespace
}  // namespace basalt::e2e
