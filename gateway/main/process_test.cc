#include "gateway/main/process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <vector>

#include "basalt/gateway/v1/user.grpc.pb.h"
#include "common/base/mutex.h"
#include "common/base/slots.h"
#include "common/exec/run_on.h"
#include "common/http/date.h"
#include "common/http/direct_client.h"
#include "common/http/target.h"
#include "common/rpc/grpc/gateway/gateway_peer.h"
#include "common/rpc/grpc/test_authority.h"
#include "common/rpc/grpc/user_credentials.h"
#include "common/rpc/protocols.h"
#include "common/testing/temp_dir.h"

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;

constexpr char kNameSecret[] = "a secret that nobody else knows";
constexpr absl::Duration kBehind = absl::Hours(9);

std::string HoursAgo() { return http::FormatDate(absl::Now() - kBehind); }

// Is enough of an API server to list one job, watch, and create pods that the watch then shows.
class SmallApi : public http::Handler {
 public:
  void Handle(const http::Request& request, std::shared_ptr<http::ResponseWriter> writer) override {
    const http::Target target = http::ParseTarget(request.target);
    const http::Headers json = {{"Content-Type", "application/json"}, {"Date", HoursAgo()}};
    if (request.target.find("/secrets/") != std::string::npos) {
      ++secrets_read;
      writer->Whole(200, json,
                    R"({"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"ns","name":"j-ssh","uid":"s",)"
                    R"("resourceVersion":"9"},"data":{"key":"c2VjcmV0"}})");
      return;
    }
    if (request.target.find("/tokenreviews") != std::string::npos) {
      const std::string refused =
          R"({"kind":"Status","code":403,"reason":"Forbidden","message":"User \"g\" cannot create resource \"r\""})";
      writer->Whole(403, json, refused);
      return;
    }
    if (request.method == "POST") {
      const std::string pod =
          R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"j-p","uid":"u","resourceVersion":"11",)"
          R"("labels":{"volcano.sh/job-name":"j"},"ownerReferences":[{"apiVersion":"batch.volcano.sh/v1alpha1",)"
          R"("kind":"Job","name":"j","uid":"ju","controller":true}]},"spec":{"schedulerName":"volcano"}})";
      writer->Whole(201, json, pod);
      return;
    }
    if (target.Query("watch") == "true" || target.Query("watch") == "1") {
      writer->Head(200, json);
      watches_.push_back(writer);
      return;
    }
    const bool of_jobs = request.target.find("/batch.volcano.sh/") != std::string::npos;
    writer->Whole(
        200, json,
        fmt::format(R"({{"kind":"List","metadata":{{"resourceVersion":"10"}},"items":[{}]}})",
                    of_jobs ? R"({"metadata":{"namespace":"ns","name":"j","uid":"ju","resourceVersion":"9"}})" : ""));
  }

  std::atomic<int> secrets_read = 0;

 private:
  std::vector<std::shared_ptr<http::ResponseWriter>> watches_;
};

// The items that a replica has received, for a test on another thread.
class Heard : public rpc::AttachObserver {
 public:
  void OnBatch(v1::AttachBatch batch) override {
    MutexLock lock(mutex_);
    for (v1::Item& item : *batch.mutable_items()) items_.push_back(std::move(item));
    api_time_ms_ = batch.api_time_ms();
    changed_.NotifyAll();
    v1::AttachRequest ack;
    ack.mutable_ack()->set_sequence(batch.sequence());
    stream->Send(std::move(ack));
  }
  void OnClosed(const absl::Status& status) override {
    MutexLock lock(mutex_);
    closed_ = status;
    changed_.NotifyAll();
  }

  rpc::AttachStream* stream = nullptr;

  // Returns false if the condition did not hold within half a minute.
  bool WaitFor(const std::function<bool(const std::vector<v1::Item>&)>& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    MutexLock lock(mutex_);
    while (!condition(items_)) {
      if (!changed_.WaitUntil(mutex_, until)) return condition(items_);
    }
    return true;
  }
  absl::Status WaitForClose() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    MutexLock lock(mutex_);
    while (closed_.ok()) {
      if (!changed_.WaitUntil(mutex_, until)) break;
    }
    return closed_;
  }
  int64_t api_time_ms() {
    MutexLock lock(mutex_);
    return api_time_ms_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<v1::Item> items_;
  int64_t api_time_ms_ = 0;
  absl::Status closed_;
};

class ProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ProcessOptions options;
    options.gateway.streaming_lists = false;
    options.gateway.hub.cluster = "c";
    options.gateway.hub.version = "1";
    options.gateway.hub.ownership.formation = absl::ZeroDuration();
    auto started = Process::Start(
        std::move(options), [this](Loop& loop) { return std::make_unique<http::DirectClient>(loop, loop, api_); });
    ASSERT_TRUE(started.ok()) << started.status();
    process_ = *std::move(started);
    RunOn(*loop_, [this] {
      peer_ = rpc::MakeGrpcGatewayPeer(*loop_, {"127.0.0.1:" + std::to_string(process_->port())});
      stream_ = peer_->Attach(heard_);
      heard_.stream = stream_.get();
    });
  }
  void TearDown() override {
    RunOn(*loop_, [this] { stream_.reset(); });
    peer_.reset();
    process_.reset();
  }
  void SayHello() {
    RunOn(*loop_, [&] { stream_->Send(HelloWith(kNameSecret)); });
  }
  static v1::AttachRequest HelloWith(const std::string& name_secret) {
    v1::AttachRequest request;
    v1::Hello& hello = *request.mutable_hello();
    hello.set_cluster("c");
    hello.set_version("1");
    *hello.mutable_protocols() = rpc::RangeOf(rpc::kProtocols);
    hello.set_slot_count(kSlotCount);
    *hello.mutable_self() = Self();
    hello.set_name_secret(name_secret);
    return request;
  }
  // Asks as the replica would, and waits for the answer.
  absl::Status Get(const std::string& token, int64_t epoch, const std::string& ns, const std::string& name) {
    std::promise<absl::Status> answer;
    RunOn(*loop_, [&] {
      v1::GetRequest request;
      *request.mutable_owner() = OwnerIn(epoch, token);
      request.mutable_resource()->set_version("v1");
      request.mutable_resource()->set_plural("secrets");
      request.set_namespace_(ns);
      request.set_name(name);
      peer_->Get(std::move(request), absl::Seconds(30), [&](const auto& got) { answer.set_value(got.status()); });
    });
    return answer.get_future().get();
  }
  // Returns the epoch of the slots, once all have begun, and sets token_ to the token of the session.
  int64_t WaitForSlots() {
    int64_t epoch = 0;
    EXPECT_TRUE(heard_.WaitFor([&](const std::vector<v1::Item>& items) {
      int ends = 0;
      for (const v1::Item& item : items) {
        if (item.has_session_start()) token_ = item.session_start().token();
        if (item.has_begin()) epoch = item.begin().epoch();
        ends += item.has_end() ? 1 : 0;
      }
      return ends == static_cast<int>(kSlotCount);
    }));
    return epoch;
  }
  static v1::Owner OwnerIn(int64_t epoch, const std::string& token) {
    v1::Owner owner;
    *owner.mutable_member() = Self();
    owner.set_slot(SlotOf("ns/j"));
    owner.set_slot_epoch(epoch);
    owner.set_key("ns/j");
    owner.set_token(token);
    return owner;
  }
  static v1::Member Self() {
    v1::Member self;
    self.set_service(v1::SERVICE_KIND_JOB);
    self.set_replica("jobsvc-0");
    self.set_incarnation("one");
    return self;
  }

  SmallApi api_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<Loop> loop_ = MakeThreadLoop("replica");
  Heard heard_;
  std::string token_;
  std::unique_ptr<rpc::GatewayPeer> peer_;
  std::unique_ptr<rpc::AttachStream> stream_;
};

TEST_F(ProcessTest, AReplicaGetsItsSlotsAndSeesItsOwnWrite) {
  SayHello();
  const int64_t epoch = WaitForSlots();
  // The clock may have gone on meanwhile.
  EXPECT_NEAR(static_cast<double>(heard_.api_time_ms()) / 1000,
              absl::ToDoubleSeconds(absl::Now() - kBehind - absl::UnixEpoch()), 60)
      << "the API server's clock, not ours";

  v1::WriteRequest write;
  *write.mutable_owner() = OwnerIn(epoch, token_);
  write.mutable_resource()->set_version("v1");
  write.mutable_resource()->set_plural("pods");
  write.set_namespace_("ns");
  write.set_name("j-p");
  write.mutable_create()->set_body(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"j-p","labels":{"volcano.sh/job-name":"j"},)"
      R"("ownerReferences":[{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"j","uid":"ju",)"
      R"("controller":true}]}})");
  std::vector<absl::StatusOr<v1::WriteResponse>> answers;
  Mutex mutex;
  CondVar answered;
  const auto keep = [&](absl::StatusOr<v1::WriteResponse> answer) {
    MutexLock lock(mutex);
    answers.push_back(std::move(answer));
    answered.NotifyAll();
  };
  const auto wait = [&](size_t count) {
    MutexLock lock(mutex);
    while (answers.size() < count) answered.Wait(mutex);
  };
  RunOn(*loop_, [&] { peer_->Write(write, absl::Seconds(30), keep); });
  wait(1);
  ASSERT_TRUE(answers[0].ok()) << answers[0].status();
  EXPECT_EQ(answers[0]->object().pod().uid(), "u");
  EXPECT_TRUE(heard_.WaitFor([](const std::vector<v1::Item>& items) {
    for (const v1::Item& item : items) {
      if (item.has_state() && item.state().routing_key() == "ns/j" && item.state().watch() == "pods/job") return true;
    }
    return false;
  }));

  write.mutable_owner()->set_slot_epoch(epoch + 7);
  RunOn(*loop_, [&] { peer_->Write(write, absl::Seconds(30), keep); });
  wait(2);
  EXPECT_EQ(answers[1].status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(process_->health().IsReady());
}

TEST_F(ProcessTest, AStrangerReadsNothingAndTakesNobodysPlace) {
  EXPECT_EQ(Get("", 0, "ns", "j-ssh").code(), absl::StatusCode::kFailedPrecondition) << "nobody is attached";
  SayHello();
  const int64_t epoch = WaitForSlots();
  EXPECT_EQ(Get("", epoch, "ns", "j-ssh").code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(Get("some other token, as long as that", epoch, "ns", "j-ssh").code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(Get(token_, epoch, "kube-system", "token").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(api_.secrets_read, 0);
  EXPECT_TRUE(Get(token_, epoch, "ns", "j-ssh").ok());
  EXPECT_EQ(api_.secrets_read, 1);

  // The thief has the same name and incarnation, which GetTopology shows everybody.
  Heard thief;
  std::unique_ptr<rpc::AttachStream> stream;
  RunOn(*loop_, [&] {
    stream = peer_->Attach(thief);
    thief.stream = stream.get();
    stream->Send(HelloWith("some other secret, as long as that"));
  });
  EXPECT_EQ(thief.WaitForClose().code(), absl::StatusCode::kUnauthenticated);
  RunOn(*loop_, [&] { stream.reset(); });
  EXPECT_TRUE(Get(token_, epoch, "ns", "j-ssh").ok()) << "the replica goes on";
}

TEST(ProcessAddressTest, BothPortsMayBeOfIpv6) {
  ProcessOptions options;
  options.gateway.streaming_lists = false;
  options.listen = "[::1]:0";
  options.metrics_listen = "[::1]:0";
  SmallApi api;
  const auto process = Process::Start(
      std::move(options), [&api](Loop& loop) { return std::make_unique<http::DirectClient>(loop, loop, api); });
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_GT((*process)->metrics_port(), 0);
  EXPECT_GT((*process)->port(), 0);
}

// The operator of a gateway that may not review learns that from readiness, and not only from users.
TEST(ProcessUsersTest, ReadinessNamesTheRightThatALogInLacks) {
  const basalt::testing::TempDir folder;
  const rpc::TestAuthority authority(folder.path(), "c");
  ProcessOptions options;
  options.gateway.streaming_lists = false;
  options.gateway.hub.cluster = "c";
  options.credentials = authority.CredentialsOf(identity::Role::kGateway, "gateway-0");
  options.user_rate = TokenBucketOptions();
  SmallApi api;
  const auto process = Process::Start(
      std::move(options), [&api](Loop& loop) { return std::make_unique<http::DirectClient>(loop, loop, api); });
  ASSERT_TRUE(process.ok()) << process.status();
  const auto user =
      rpc::UserCredentials::FromFile(authority.FilesOf(identity::Role::kReader, "any").authorities, authority.rules());
  const auto stub = v1::UserService::NewStub(
      grpc::CreateChannel(fmt::format("127.0.0.1:{}", (*process)->port()), *(*user)->ForLogIn({})));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  v1::LogInRequest request;
  request.set_kubernetes_token("secret");
  v1::LogInResponse response;
  const grpc::Status status = stub->LogIn(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
  std::map<std::string, std::string> cures;
  for (const obs::Health::Target& target : (*process)->health().Targets()) cures[target.name] = target.cure;
  EXPECT_THAT(cures["right to create tokenreviews.authentication.k8s.io"], HasSubstr("deploy/rbac/users"));
}

}  // namespace
}  // namespace basalt::gateway
