// Forwarding between three real servers, each with an assignment of its own.
#include "common/rpc/grpc/forward/forward.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "basalt/replica/v1/replica.grpc.pb.h"
#include "common/exec/run_on.h"
#include "common/rpc/grpc/server.h"
#include "common/rpc/grpc/unary.h"
#include "common/testing/status_matchers.h"

namespace basalt::rpc {
namespace {

using replica::v1::ExportRecordsRequest;
using replica::v1::ExportRecordsResponse;
using replica::v1::ReplicaService;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kSlot = 7;

gateway::v1::Member MakeMember(const std::string& replica, const std::string& address) {
  gateway::v1::Member member;
  member.set_replica(replica);
  member.set_incarnation("of " + replica);
  member.set_address(address);
  return member;
}

class Assignment final : public Members {
 public:
  explicit Assignment(std::string self) : self_(std::move(self)) {}
  gateway::v1::Member self() const override { return MakeMember(self_, ""); }
  std::vector<gateway::v1::Member> all() const override {
    MutexLock lock(mutex_);
    return members_;
  }
  void Set(std::vector<gateway::v1::Member> members) {
    MutexLock lock(mutex_);
    members_ = std::move(members);
  }

 private:
  const std::string self_;
  mutable Mutex mutex_;
  std::vector<gateway::v1::Member> members_ BASALT_GUARDED_BY(mutex_);
};

// Each request is about kSlot; for the cluster "all" it is gathered from all members.
class Node final : public ReplicaService::CallbackService {
 public:
  using Local = std::function<void(ExportRecordsRequest, Done<ExportRecordsResponse>)>;

  Node(Loop& loop, std::string name)
      : loop_(loop),
        name_(std::move(name)),
        assignment(name_),
        forwarder_(std::make_shared<Forwarder<ReplicaService>>(loop, assignment)) {
    loop_.Post([] {});
    local = [this](const ExportRecordsRequest&, Done<ExportRecordsResponse> done) {
      ExportRecordsResponse response;
      response.set_next_cursor(name_);
      done(std::move(response));
    };
  }
  ~Node() override { forwarder_->Stop(); }

  grpc::ServerUnaryReactor* ExportRecords(grpc::CallbackServerContext* context, const ExportRecordsRequest* request,
                                          ExportRecordsResponse* response) override {
    return ServeUnary<ExportRecordsRequest, ExportRecordsResponse>(
        loop_, limiter_, context, request, response,
        [this, caller = CallerOf(*context, assignment)](ExportRecordsRequest asked, Done<ExportRecordsResponse> done) {
          ++calls;
          last_caller = caller;
          if (on_call) on_call();
          Answer(caller, std::move(asked), std::move(done));
        });
  }

  std::atomic<int> calls = 0;
  // Used on the loop: the members up to `local`.
  Caller last_caller;
  std::function<void()> on_call;
  Local local;

 private:
  void Answer(const Caller& caller, ExportRecordsRequest asked, Done<ExportRecordsResponse> done) {
    const auto remote =
        Remote<ExportRecordsResponse>([](auto& stub, auto... arguments) { stub.async()->ExportRecords(arguments...); });
    const auto here = [this](ExportRecordsRequest request, Done<ExportRecordsResponse> answered) {
      local(std::move(request), std::move(answered));
    };
    const Repeat repeat = asked.cursor().empty() ? Repeat::kIdempotent : Repeat::kOnce;
    if (asked.cluster() != "all" || !caller.forwarded_by.empty()) {
      forwarder_->Route(caller, kSlot, "group g", repeat, std::move(asked), std::move(done), here, remote);
      return;
    }
    const auto make = [](const SlotSet&) {
      ExportRecordsRequest part;
      part.set_cluster("part");
      return part;
    };
    auto merge = [done = std::move(done)](absl::StatusOr<std::vector<ExportRecordsResponse>> parts) mutable {
      if (!parts.ok()) return done(parts.status());
      ExportRecordsResponse response;
      response.set_next_cursor(std::to_string(parts->size()));
      done(std::move(response));
    };
    forwarder_->Gather<ExportRecordsRequest>(caller, make, Done<std::vector<ExportRecordsResponse>>(std::move(merge)),
                                             here, remote);
  }

  Loop& loop_;
  const std::shared_ptr<InflightLimiter> limiter_ = std::make_shared<InflightLimiter>();
  const std::string name_;

 public:
  Assignment assignment;

 private:
  const std::shared_ptr<Forwarder<ReplicaService>> forwarder_;
};

class ForwardTest : public ::testing::Test {
 protected:
  ForwardTest() {
    for (const std::string name : {"a", "b", "c"}) {
      auto node = std::make_unique<Node>(*loop_, name);
      nodes_.push_back(node.get());
      std::vector<std::unique_ptr<GrpcService>> services;
      services.push_back(WrapService(std::move(node)));
      servers_.push_back(*GrpcServer::Start({}, std::move(services)));
      members_.push_back(MakeMember(name, fmt::format("127.0.0.1:{}", servers_.back()->port())));
    }
    stub_ = ReplicaService::NewStub(MakeChannel(members_[0].address()));
  }
  ~ForwardTest() override {
    for (auto& server : servers_) server->Drain(absl::ZeroDuration());
    servers_.clear();
  }

  // Calls `a`. A call with a cursor counts as one that must not be repeated.
  absl::StatusOr<std::string> Ask(const std::string& name = "", const std::string& cursor = "",
                                  absl::Duration limit = absl::Seconds(20)) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + limit));
    ExportRecordsRequest request;
    request.set_cluster(name);
    request.set_cursor(cursor);
    ExportRecordsResponse response;
    const grpc::Status status = stub_->ExportRecords(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response.next_cursor();
  }
  // Sets the node's view of the assignment: these members own everything.
  void Assign(size_t node, std::vector<gateway::v1::Member> members) {
    nodes_[node]->assignment.Set(std::move(members));
  }

  const std::unique_ptr<Loop> loop_ = MakeThreadLoop("api");
  std::vector<Node*> nodes_;
  std::vector<gateway::v1::Member> members_;
  std::vector<std::unique_ptr<GrpcServer>> servers_;
  std::unique_ptr<ReplicaService::Stub> stub_;
};

TEST(ForwarderTest, ASlotIsHereIfTheNewestAssignmentGivesItToThisProcess) {
  const std::unique_ptr<Loop> loop = MakeThreadLoop("api");
  Assignment assignment("a");
  const auto forwarder = std::make_shared<Forwarder<ReplicaService>>(*loop, assignment);
  gateway::v1::Member older = MakeMember("a", "");
  older.set_incarnation("an older one");
  RunOn(*loop, [&] {
    EXPECT_FALSE(forwarder->IsHere(kSlot)) << "nobody is known";
    assignment.Set({MakeMember("b", "")});
    EXPECT_FALSE(forwarder->IsHere(kSlot));
    assignment.Set({older});
    EXPECT_FALSE(forwarder->IsHere(kSlot));
    assignment.Set({MakeMember("a", "")});
    EXPECT_TRUE(forwarder->IsHere(kSlot));
  });
}

// Counts its stubs.
struct CountedService {
  struct Stub {
    Stub() { ++made, ++alive; }
    ~Stub() { --alive; }
    Stub(const Stub&) = delete;
    Stub& operator=(const Stub&) = delete;
  };
  static std::unique_ptr<Stub> NewStub(const std::shared_ptr<grpc::Channel>&) { return std::make_unique<Stub>(); }
  static inline int made = 0;
  static inline int alive = 0;
};

TEST(ForwarderTest, AStubIsKeptForAsLongAsItsMemberIsOne) {
  const std::unique_ptr<Loop> loop = MakeThreadLoop("api");
  Assignment assignment("a");
  const auto forwarder = std::make_shared<Forwarder<CountedService>>(*loop, assignment);
  std::vector<gateway::v1::Member> members;
  for (int i = 0; i < 100; ++i) members.push_back(MakeMember(std::to_string(i), fmt::format("127.0.0.1:{}", i + 1)));
  const auto use = [&forwarder](const gateway::v1::Member& member) { forwarder->Begin(member, [](auto&, auto&) {}); };
  RunOn(*loop, [&] {
    assignment.Set(members);
    for (int round = 0; round < 2; ++round) {
      for (const gateway::v1::Member& member : members) use(member);
    }
    EXPECT_EQ(CountedService::made, 100);
    EXPECT_EQ(CountedService::alive, 100);
    const gateway::v1::Member next = MakeMember("next", "127.0.0.1:101");
    assignment.Set({members[0], members[1], next});
    use(next);
    use(members[0]);
    EXPECT_EQ(CountedService::made, 101);
    EXPECT_EQ(CountedService::alive, 3) << "the stubs of members that are gone are dropped";
  });
}

TEST_F(ForwardTest, WithoutAnAssignmentNobodyIsAsked) {
  EXPECT_THAT(Ask(), basalt::testing::StatusIs(absl::StatusCode::kUnavailable, HasSubstr("not attached")));
}

TEST_F(ForwardTest, AnOwnSlotIsAnsweredHereAndTheRestByItsOwner) {
  Assign(0, {members_[0]});
  EXPECT_EQ(*Ask(), "a");
  Assign(0, {members_[1]});
  Assign(1, {members_[1]});
  EXPECT_EQ(*Ask("", "", absl::Seconds(5)), "b");
  RunOn(*loop_, [this] {
    EXPECT_EQ(nodes_[1]->last_caller.forwarded_by, "a");
    EXPECT_LT(nodes_[1]->last_caller.deadline, absl::Now() + absl::Seconds(10)) << "the caller's own";
  });
}

TEST_F(ForwardTest, AForwardedCallGoesNoFurtherAndTheRefusalNamesTheOwner) {
  Assign(0, {members_[1]});
  Assign(1, {members_[2]});
  Assign(2, {members_[2]});
  const auto answer = Ask("", "", absl::Milliseconds(300));
  EXPECT_THAT(answer, basalt::testing::StatusIs(absl::StatusCode::kUnavailable,
                                                HasSubstr(fmt::format("b at {}: group g belongs to c at {}, not to b",
                                                                      members_[1].address(), members_[2].address()))));
  EXPECT_GT(nodes_[1]->calls, 1) << "asked again for as long as the caller waits";
  EXPECT_EQ(nodes_[2]->calls, 0);
}

TEST_F(ForwardTest, ARefusalIsFollowedByALookAtTheNewestAssignment) {
  for (const std::string cursor : {"", "a write, too: it was surely not handled"}) {
    Assign(0, {members_[1]});
    Assign(1, {members_[2]});
    Assign(2, {members_[2]});
    RunOn(*loop_, [this] { nodes_[1]->on_call = [this] { Assign(0, {members_[2]}); }; });
    EXPECT_EQ(*Ask("", cursor), "c");
  }
}

TEST_F(ForwardTest, AnotherProcessOfTheSameNameIsAnother) {
  gateway::v1::Member old = members_[0];
  old.set_incarnation("an older one");
  old.set_address(members_[1].address());
  Assign(0, {old});
  Assign(1, {members_[1]});
  EXPECT_EQ(*Ask(), "b") << "not answered here";
}

TEST_F(ForwardTest, ACallThatMayHaveBeenHandledIsRepeatedOnlyIfIdempotent) {
  Assign(0, {members_[1]});
  Assign(1, {members_[1]});
  const Node::Local answer = nodes_[1]->local;
  const auto drop_once = [&] {
    nodes_[1]->calls = 0;
    RunOn(*loop_, [&] {
      nodes_[1]->local = [&](ExportRecordsRequest request, Done<ExportRecordsResponse> done) {
        if (nodes_[1]->calls > 1) answer(std::move(request), std::move(done));
      };
    });
  };
  drop_once();
  EXPECT_EQ(*Ask(), "b");
  EXPECT_EQ(nodes_[1]->calls, 2);
  drop_once();
  EXPECT_THAT(Ask("", "cursor"), basalt::testing::StatusIs(absl::StatusCode::kUnknown, HasSubstr("b at ")));
  EXPECT_EQ(nodes_[1]->calls, 1);
}

TEST_F(ForwardTest, OtherAnswersOfTheOwnerAreTheAnswer) {
  Assign(0, {members_[1]});
  Assign(1, {members_[1]});
  RunOn(*loop_, [this] {
    nodes_[1]->local = [](const ExportRecordsRequest&, Done<ExportRecordsResponse> done) {
      done(MakeStatus(absl::StatusCode::kNotFound, "there is none"));
    };
  });
  EXPECT_THAT(Ask(), basalt::testing::StatusIs(absl::StatusCode::kNotFound, HasSubstr("there is none")));
  EXPECT_EQ(nodes_[1]->calls, 1);
}

TEST_F(ForwardTest, AllMembersArePartsOfAllAndOneThatIsMissingIsNamed) {
  for (size_t node = 0; node < 3; ++node) Assign(node, members_);
  // Each node answers for its part, whichever node owns kSlot.
  for (size_t node = 1; node < 3; ++node) Assign(node, {members_[node]});
  EXPECT_EQ(*Ask("all"), "3");
  servers_[2]->Drain(absl::ZeroDuration());
  const auto answer = Ask("all", "", absl::Milliseconds(400));
  EXPECT_THAT(answer, basalt::testing::StatusIs(absl::StatusCode::kUnavailable, HasSubstr("c at ")));
  EXPECT_THAT(std::string(answer.status().message()), Not(HasSubstr("b at ")));
  Assign(0, {members_[0], members_[1]});
  EXPECT_EQ(*Ask("all"), "2") << "it is a member no more";
}

}  // namespace
}  // namespace basalt::rpc
