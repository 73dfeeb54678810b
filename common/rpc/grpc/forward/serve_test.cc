// Two replicas with real servers; each is called for objects of either.
#include "common/rpc/grpc/forward/serve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "basalt/queue/v1/queue.grpc.pb.h"
#include "basalt/queue/v1/queue_part.grpc.pb.h"
#include "common/base/mutex.h"
#include "common/exec/run_on.h"
#include "common/rpc/grpc/server.h"
#include "common/rpc/grpc/user_access_fixture.h"

namespace basalt::rpc {
namespace {

using queue::v1::DeleteQueueRequest;
using queue::v1::DeleteQueueResponse;
using queue::v1::GetQueueRequest;
using queue::v1::ListPartRequest;
using queue::v1::ListPartResponse;
using queue::v1::ListQueuesRequest;
using queue::v1::ListQueuesResponse;
using queue::v1::Queue;
using queue::v1::QueuePartService;
using queue::v1::QueueService;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr auto kGet = [](auto& stub, auto... arguments) { stub.async()->GetQueue(arguments...); };

struct QueueList {
  using Item = Queue;
  using Page = ListQueuesResponse;
  using Part = ListPartResponse;
  using PartRequest = ListPartRequest;
  static auto& Items(Part& part) { return *part.mutable_queues(); }
  static auto& Items(Page& page) { return *page.mutable_queues(); }
  static std::string KeyOf(const Item& item) { return item.object().meta().name(); }
};

class FixedMembers final : public Members {
 public:
  explicit FixedMembers(std::string self) { self_.set_replica(std::move(self)); }
  gateway::v1::Member self() const override { return self_; }
  std::vector<gateway::v1::Member> all() const override {
    MutexLock lock(mutex_);
    return all_;
  }
  std::shared_ptr<UserAccess> users() const override {
    MutexLock lock(mutex_);
    return users_;
  }
  void Set(std::vector<gateway::v1::Member> all) {
    MutexLock lock(mutex_);
    all_ = std::move(all);
  }
  void SetUsers(std::shared_ptr<UserAccess> users) {
    MutexLock lock(mutex_);
    users_ = std::move(users);
  }

 private:
  gateway::v1::Member self_;
  mutable Mutex mutex_;
  std::vector<gateway::v1::Member> all_ BASALT_GUARDED_BY(mutex_);
  std::shared_ptr<UserAccess> users_ BASALT_GUARDED_BY(mutex_);
};

// Has one queue, with the replica's name, and answers calls about any name with it. Holds deletions.
struct Api {
  void Get(const GetQueueRequest&, Done<Queue> done) const { done(Own()); }
  void ListPart(const ListPartRequest&, Done<ListPartResponse> done) const {
    ListPartResponse part;
    *part.add_queues() = Own();
    done(std::move(part));
  }
  Queue Own() const {
    Queue queue;
    queue.mutable_object()->mutable_meta()->set_name(replica);
    return queue;
  }
  void Delete(const DeleteQueueRequest&, Done<DeleteQueueResponse> done) { held.push_back(std::move(done)); }
  std::string replica;
  std::vector<Done<DeleteQueueResponse>> held = {};  // Used on the loop.
};

struct Core {
  Core(Loop& api_loop, const std::string& replica) : loop(api_loop), members(replica), api{replica} {}
  Loop& loop;
  const std::shared_ptr<InflightLimiter> limiter = std::make_shared<InflightLimiter>();
  FixedMembers members;
  Api api;
  const std::shared_ptr<Forwarder<QueueService>> queues = std::make_shared<Forwarder<QueueService>>(loop, members);
  const std::shared_ptr<Forwarder<QueuePartService>> parts =
      std::make_shared<Forwarder<QueuePartService>>(loop, members);
};

absl::Status CheckToken(const ListQueuesRequest& request) {
  return request.page_token() == "?" ? InvalidField("page_token", "is none") : absl::OkStatus();
}

class Queues final : public QueueService::CallbackService {
 public:
  explicit Queues(std::shared_ptr<Core> core) : core_(std::move(core)) {
    core_->loop.Post([] {});
  }
  ~Queues() override {
    core_->queues->Stop();
    core_->parts->Stop();
  }
  grpc::ServerUnaryReactor* GetQueue(grpc::CallbackServerContext* context, const GetQueueRequest* request,
                                     Queue* response) override {
    return ServeAtOwner(core_, core_->queues, context, request, response, {"queue", request->name()},
                        Repeat::kIdempotent, &Api::Get, kGet);
  }
  grpc::ServerUnaryReactor* DeleteQueue(grpc::CallbackServerContext* context, const DeleteQueueRequest* request,
                                        DeleteQueueResponse* response) override {
    return ServeAtOwner(core_, core_->queues, context, request, response, {"queue", request->name()}, Repeat::kOnce,
                        &Api::Delete, [](auto& stub, auto... arguments) { stub.async()->DeleteQueue(arguments...); });
  }
  grpc::ServerUnaryReactor* ListQueues(grpc::CallbackServerContext* context, const ListQueuesRequest* request,
                                       ListQueuesResponse* response) override {
    return ServeList<QueueList>(core_, core_->parts, context, request, response, CheckToken);
  }

 private:
  const std::shared_ptr<Core> core_;
};

class Parts final : public QueuePartService::CallbackService {
 public:
  explicit Parts(std::shared_ptr<Core> core) : core_(std::move(core)) {
    core_->loop.Post([] {});
  }
  grpc::ServerUnaryReactor* ListPart(grpc::CallbackServerContext* context, const ListPartRequest* request,
                                     ListPartResponse* response) override {
    return ServeHere(core_, context, request, response, &Api::ListPart);
  }

 private:
  const std::shared_ptr<Core> core_;
};

class ServeTest : public ::testing::Test {
 protected:
  ServeTest() {
    for (const char* replica : {"a", "b"}) {
      cores_.push_back(std::make_shared<Core>(*loop_, replica));
      std::vector<std::unique_ptr<GrpcService>> services;
      services.push_back(WrapService(std::make_unique<Queues>(cores_.back())));
      services.push_back(WrapService(std::make_unique<Parts>(cores_.back())));
      servers_.push_back(*GrpcServer::Start({}, std::move(services)));
      gateway::v1::Member& member = members_.emplace_back();
      member.set_replica(replica);
      member.set_address(fmt::format("127.0.0.1:{}", servers_.back()->port()));
      stubs_.push_back(QueueService::NewStub(MakeChannel(member.address())));
    }
    for (const auto& core : cores_) core->members.Set(members_);
  }
  ~ServeTest() override {
    for (auto& server : servers_) server->Drain(absl::ZeroDuration());
    servers_.clear();
  }
  // Returns the name of the replica that answered, or the error.
  std::string Get(size_t replica, const std::string& name) {
    grpc::ClientContext context;
    GetQueueRequest request;
    request.set_name(name);
    Queue queue;
    const grpc::Status status = stubs_[replica]->GetQueue(&context, request, &queue);
    return status.ok() ? queue.object().meta().name() : FromGrpc(status).ToString();
  }

  const std::unique_ptr<Loop> loop_ = MakeThreadLoop("api");
  std::vector<std::shared_ptr<Core>> cores_;
  std::vector<gateway::v1::Member> members_;
  std::vector<std::unique_ptr<GrpcServer>> servers_;
  std::vector<std::unique_ptr<QueueService::Stub>> stubs_;
};

TEST_F(ServeTest, WhoeverIsAskedTheOwnerOfTheKeyAnswers) {
  std::set<std::string> owners;
  for (int i = 0; i < 16; ++i) {
    const std::string name = fmt::format("queue-{}", i);
    const std::string& owner = members_[OwnerOf(members_, SlotOf(name))].replica();
    EXPECT_EQ(Get(0, name), owner) << name;
    EXPECT_EQ(Get(1, name), owner) << name;
    owners.insert(owner);
  }
  EXPECT_EQ(owners.size(), 2u);
}

TEST_F(ServeTest, ACallThatNamesNothingIsRefused) {
  EXPECT_THAT(Get(0, ""), HasSubstr("INVALID_ARGUMENT: name: is required"));
}

TEST_F(ServeTest, AListHasWhatAllReplicasHave) {
  for (const auto& stub : stubs_) {
    grpc::ClientContext context;
    ListQueuesResponse page;
    ASSERT_TRUE(stub->ListQueues(&context, ListQueuesRequest(), &page).ok());
    std::vector<std::string> names;
    for (const Queue& queue : page.queues()) names.push_back(queue.object().meta().name());
    EXPECT_THAT(names, ElementsAre("a", "b"));
  }
}

TEST_F(ServeTest, AListThatTheCheckRefusesIsRefused) {
  grpc::ClientContext context;
  ListQueuesRequest request;
  request.set_page_token("?");
  ListQueuesResponse page;
  const grpc::Status status = stubs_[0]->ListQueues(&context, request, &page);
  EXPECT_THAT(FromGrpc(status).ToString(), HasSubstr("INVALID_ARGUMENT: page_token: is none"));
}

// A change may still be made, or be dropped, after its caller has gone: the audit log has one line with the outcome.
TEST_F(ServeTest, AChangeWhoseCallerHasGoneIsOneLineOfTheAuditLog) {
  const auto guard = std::make_shared<CallGuard>(identity::IdentityRules("basalt.local", "blue"),
                                                 std::make_shared<identity::DeniedList>(), [](const RefusedCall&) {});
  const auto allow = [](const gateway::v1::ReviewAccessRequest& asked, Done<gateway::v1::ReviewAccessResponse> done) {
    gateway::v1::ReviewAccessResponse response;
    for (int i = 0; i < asked.questions_size(); ++i) response.add_answers()->set_allowed(true);
    done(std::move(response));
  };
  const auto users = std::make_shared<UserAccess>(*loop_, guard, allow, TokenBucketOptions{});
  for (const auto& core : cores_) core->members.SetUsers(users);
  const size_t owner_index = OwnerOf(members_, SlotOf("a"));
  Core& owner = *cores_[owner_index];
  for (const bool is_dropped : {false, true}) {
    const std::vector<std::string> lines = AuditOf([&] {
      grpc::ClientContext context;
      DeleteQueueRequest request;
      request.set_name("a");
      DeleteQueueResponse response;
      grpc::Status ended;
      std::thread caller(
          [&, stub = stubs_[owner_index].get()] { ended = stub->DeleteQueue(&context, request, &response); });
      for (bool is_taken = false; !is_taken; std::this_thread::yield()) {
        RunOn(*loop_, [&] { is_taken = !owner.api.held.empty(); });
      }
      context.TryCancel();
      caller.join();
      EXPECT_EQ(ended.error_code(), grpc::StatusCode::CANCELLED);
      RunOn(*loop_, [&] {
        if (!is_dropped) owner.api.held.front()(DeleteQueueResponse());
        owner.api.held.clear();
      });
    });
    ASSERT_THAT(lines, SizeIs(1));
    EXPECT_THAT(lines[0], HasSubstr(is_dropped ? R"("outcome":"UNKNOWN")" : R"("outcome":"OK")"));
  }
}

}  // namespace
}  // namespace basalt::rpc
