// Arguments and output of the commands of queues.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "basalt/queue/v1/queue.grpc.pb.h"
#include "cli/commands.h"
#include "cli/connect/served_fixture.h"
#include "common/base/mutex.h"

namespace basalt::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A queuesvc with the queues and histories that the test sets before the command runs.
class FixedQueues final : public queue::v1::QueueService::Service {
 public:
  std::map<std::string, queue::v1::Queue> queues;
  std::map<std::string, queue::v1::QueueHistory> histories;
  std::vector<std::string> manifests;
  std::vector<queue::v1::WatchQueuesResponse> responses;  // The messages of each watch, which ends after them.

  grpc::Status WatchQueues(grpc::ServerContext*, const queue::v1::WatchQueuesRequest* request,
                           grpc::ServerWriter<queue::v1::WatchQueuesResponse>* writer) override {
    for (const queue::v1::WatchQueuesResponse& response : responses) {
      if (!response.has_queue() || request->name().empty() || request->name() == "research") writer->Write(response);
    }
    return {grpc::StatusCode::ABORTED, "that was all"};
  }
  grpc::Status GetQueue(grpc::ServerContext*, const queue::v1::GetQueueRequest* request,
                        queue::v1::Queue* response) override {
    const auto found = queues.find(request->name());
    if (found == queues.end()) {
      return {grpc::StatusCode::NOT_FOUND, fmt::format("queue {} does not exist", request->name())};
    }
    *response = found->second;
    return grpc::Status::OK;
  }
  grpc::Status ListQueues(grpc::ServerContext*, const queue::v1::ListQueuesRequest*,
                          queue::v1::ListQueuesResponse* response) override {
    for (const auto& [name, queue] : queues) *response->add_queues() = queue;
    return grpc::Status::OK;
  }
  // Guards the members that handlers write: gRPC's own ordering is not visible to the thread sanitizer.
  Mutex mutex;
  // Each Command is carried out at once. OpenQueue is refused.
  grpc::Status CommandQueue(grpc::ServerContext*, const queue::v1::CommandQueueRequest* request,
                            queue::v1::CommandQueueResponse* response) override {
    const MutexLock lock(mutex);
    if (!queues.contains(request->name())) {
      return {grpc::StatusCode::NOT_FOUND, fmt::format("queue {} does not exist", request->name())};
    }
    response->set_command("default/c-" + request->action());
    queue::v1::QueueHistoryEntry& entry = *histories[request->name()].add_entries();
    entry.set_command(response->command());
    entry.set_to_state("Closing");
    const bool is_refused = request->action() == "OpenQueue";
    entry.set_kind(is_refused ? queue::v1::QueueHistoryEntry::KIND_COMMAND_REFUSED
                              : queue::v1::QueueHistoryEntry::KIND_COMMAND_DONE);
    if (is_refused) entry.set_cause("command default/c-OpenQueue: parent team is Closed, and has to be opened first");
    return grpc::Status::OK;
  }
  grpc::Status CreateQueue(grpc::ServerContext*, const queue::v1::CreateQueueRequest* request,
                           queue::v1::Queue* response) override {
    const MutexLock lock(mutex);
    manifests.push_back(request->manifest_json());
    response->mutable_object()->mutable_meta()->set_name("made");
    return grpc::Status::OK;
  }
  grpc::Status DeleteQueue(grpc::ServerContext*, const queue::v1::DeleteQueueRequest* request,
                           queue::v1::DeleteQueueResponse*) override {
    if (queues.contains(request->name())) return grpc::Status::OK;
    return {grpc::StatusCode::NOT_FOUND, fmt::format("queue {} does not exist", request->name())};
  }
  grpc::Status ExplainQueue(grpc::ServerContext*, const queue::v1::ExplainQueueRequest* request,
                            queue::v1::QueueExplanation* response) override {
    if (!queues.contains(request->name())) {
      return {grpc::StatusCode::NOT_FOUND, fmt::format("queue {} does not exist", request->name())};
    }
    response->set_summary("queue research is Open");
    return grpc::Status::OK;
  }
  grpc::Status GetQueueHistory(grpc::ServerContext*, const queue::v1::GetQueueHistoryRequest* request,
                               queue::v1::QueueHistory* response) override {
    const MutexLock lock(mutex);
    const auto found = histories.find(request->name());
    if (found == histories.end()) {
      return {grpc::StatusCode::NOT_FOUND, fmt::format("there is no history of a queue {}", request->name())};
    }
    *response = found->second;
    return grpc::Status::OK;
  }
};

class QueueCommandsTest : public ServedTest {
 protected:
  QueueCommandsTest() {
    queue::v1::Queue& queue = served_->queues["research"];
    queue.mutable_object()->mutable_meta()->set_name("research");
    queue.mutable_object()->mutable_meta()->set_uid("u");
    queue.mutable_object()->set_state("Open");
    for (const std::string name : {"busy", "closing"}) {
      queue::v1::Queue& held = served_->queues[name];
      held.mutable_object()->mutable_meta()->set_name(name);
      held.mutable_object()->set_state(name == "busy" ? "Open" : "Closing");
      held.mutable_pod_groups()->set_running(2);
      held.mutable_pod_groups()->set_completed(1);
    }
    for (const std::string name : {"research", "gone"}) {
      queue::v1::QueueHistory& history = served_->histories[name];
      history.set_uid("u");
      queue::v1::QueueHistoryEntry& entry = *history.add_entries();
      entry.set_kind(queue::v1::QueueHistoryEntry::KIND_STATE_CHANGED);
      entry.set_to_state("Open");
      entry.set_cause("a new queue is opened");
      entry.set_committed(true);
    }
    served_->histories["new"].set_uid("v");
    using Response = queue::v1::WatchQueuesResponse;
    for (const Response::Type type : {Response::TYPE_STATE, Response::TYPE_SYNCED, Response::TYPE_DELETED}) {
      Response& response = served_->responses.emplace_back();
      response.set_type(type);
      if (type != Response::TYPE_SYNCED) *response.mutable_queue() = queue;
    }
    std::unique_ptr<FixedQueues> service(served_);
    gateway_ = ServeTopology(gateway::v1::SERVICE_KIND_QUEUE, "queuesvc-0", Serve(std::move(service)));
  }

  Ran Run(const std::vector<std::string>& words) {
    std::vector<const char*> arguments = {"basaltctl", "--gateway", gateway_.c_str(), "queue"};
    for (const std::string& word : words) arguments.push_back(word.c_str());
    return Captured([&] { return Main(static_cast<int>(arguments.size()), arguments.data()); });
  }

  std::vector<std::string> Manifests() const {
    const MutexLock lock(served_->mutex);
    return served_->manifests;
  }

 private:
  FixedQueues* const served_ = new FixedQueues();  // Owned by the server.
  std::string gateway_;
};

TEST_F(QueueCommandsTest, OneQueueIsShownWithWhatWasDecidedOfIt) {
  const Ran ran = Run({"get", "research"});
  EXPECT_EQ(ran.exit_code, kExitDone) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("research\n"));
  EXPECT_THAT(ran.out, HasSubstr("a new queue is opened\n"));
  EXPECT_THAT(Run({"get", "research", "-o", "json"}).out, HasSubstr("\"state\": \"Open\""));
}

TEST_F(QueueCommandsTest, OneThatIsNotThereIsSaidToBeRememberedWhereItIs) {
  const Ran gone = Run({"get", "gone"});
  EXPECT_EQ(gone.exit_code, kExitRefused);
  EXPECT_THAT(gone.err, HasSubstr("queue gone does not exist"));
  EXPECT_THAT(gone.err, HasSubstr("basaltctl queue history gone"));
  const Ran none = Run({"get", "none"});
  EXPECT_EQ(none.exit_code, kExitRefused);
  EXPECT_THAT(none.err, HasSubstr("basaltctl queue list"));
  EXPECT_THAT(none.err, Not(HasSubstr("history")));
}

TEST_F(QueueCommandsTest, ACommandIsAskedForAndWaitedForWhereItIsWanted) {
  EXPECT_EQ(Run({"close", "research"}).out, "queue research: CloseQueue asked for (command default/c-CloseQueue)\n");
  const Ran closed = Run({"close", "research", "--wait"});
  EXPECT_EQ(closed.exit_code, kExitDone) << closed.err;
  EXPECT_THAT(closed.out, HasSubstr("queue research is Closing\n"));
  EXPECT_EQ(Run({"open", "research"}).exit_code, kExitDone);
  const Ran refused = Run({"open", "research", "--wait"});
  EXPECT_EQ(refused.exit_code, kExitRefused);
  EXPECT_THAT(refused.err, HasSubstr("parent team is Closed, and has to be opened first"));
  const Ran none = Run({"close", "none"});
  EXPECT_EQ(none.exit_code, kExitRefused);
  EXPECT_THAT(none.err, HasSubstr("queue none does not exist; basaltctl queue list"));
  EXPECT_EQ(Run({"close", "research", "--wait", "--timeout", "soon"}).exit_code, kExitBadInput);
  EXPECT_EQ(Run({"close", "research", "--timeout", "1s"}).exit_code, kExitBadInput) << "only with --wait";
  EXPECT_THAT(Run({"close", "research", "-o", "json"}).out, HasSubstr("\"command\": \"default/c-CloseQueue\""));
}

TEST_F(QueueCommandsTest, AQueueIsMadeOfFlagsOrOfAManifestAndDeleted) {
  const Ran made = Run({"create", "nlp", "--parent", "team", "--weight", "3", "--capability", "cpu=8,memory=16Gi"});
  EXPECT_EQ(made.out, "queue made created\n") << made.err;
  ASSERT_EQ(Manifests().size(), 1U);
  EXPECT_EQ(Manifests()[0], R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"nlp"},)"
                            R"("spec":{"parent":"team","weight":3,"capability":{"cpu":"8","memory":"16Gi"}}})");
  EXPECT_EQ(Run({"create", "nlp", "--dry-run"}).out, "queue made is valid (dry run)\n");
  EXPECT_THAT(Run({"create", "nlp", "--capability", "cpu"}).err,
              HasSubstr("--capability: 'cpu' is not RESOURCE=AMOUNT, like cpu=8"));
  EXPECT_EQ(Run({"create"}).exit_code, kExitBadInput);
  EXPECT_EQ(Run({"create", "nlp", "-f", "nlp.yaml"}).exit_code, kExitBadInput) << "one or the other";
  for (const char* flag : {"--parent", "--weight", "--capability", "--deserved"}) {
    const Ran both = Run({"create", "-f", "nlp.yaml", flag, "1"});
    EXPECT_EQ(both.exit_code, kExitBadInput) << flag;
    EXPECT_THAT(both.err, HasSubstr(flag)) << "the manifest says it";
  }
  EXPECT_EQ(Run({"delete", "research"}).out, "queue research deleted\n");
  EXPECT_THAT(Run({"delete", "none"}).err, HasSubstr("queue none does not exist; basaltctl queue list"));
}

TEST_F(QueueCommandsTest, AnOpenQueueThatHoldsPodGroupsIsDeletedByForceAlone) {
  const Ran ran = Run({"delete", "busy"});
  EXPECT_EQ(ran.exit_code, kExitRefused);
  EXPECT_THAT(ran.err, HasSubstr("queue busy is Open, and 3 pod groups name it (0 pending, 0 inqueue, 2 running, "
                                 "0 unknown, 1 completed)"));
  EXPECT_THAT(ran.err, HasSubstr("--force"));
  EXPECT_EQ(Run({"delete", "busy", "--force"}).out, "queue busy deleted\n");
  EXPECT_EQ(Run({"delete", "closing"}).out, "queue closing deleted\n") << "somebody has closed the queue";
}

TEST_F(QueueCommandsTest, TheTreeAndAnExplanationAreShown) {
  EXPECT_THAT(Run({"tree"}).out, HasSubstr("research   Open"));
  EXPECT_THAT(Run({"tree", "research"}).out, HasSubstr("research   Open"));
  EXPECT_THAT(Run({"tree", "none"}).err, HasSubstr("queue none does not exist; basaltctl queue list"));
  EXPECT_EQ(Run({"explain", "research"}).out, "queue research is Open\n");
  EXPECT_THAT(Run({"explain", "research", "-o", "yaml"}).out, HasSubstr("summary: queue research is Open"));
  EXPECT_EQ(Run({"explain", "none"}).exit_code, kExitRefused);
}

TEST_F(QueueCommandsTest, AWatchTellsEachChangeInALineOrADocument) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"watch"}, {"watch", "research"}}) {
    EXPECT_EQ(Run(words).out,
              "research  Open  0 pending, 0 inqueue, 0 running, 0 unknown, 0 completed\n"
              "research  deleted\n");
  }
  const std::string out = Run({"watch", "-o", "json"}).out;
  EXPECT_THAT(out, HasSubstr("\"TYPE_STATE\""));
  EXPECT_THAT(out, HasSubstr("\"TYPE_DELETED\""));
}

TEST_F(QueueCommandsTest, AWatchOfAQueueThatDoesNotExistSaysSo) {
  const Ran ran = Run({"watch", "nobody"});
  EXPECT_EQ(ran.exit_code, kExitRefused);
  EXPECT_EQ(ran.err, "error: queue nobody does not exist; basaltctl queue list tells those that there are\n");
}

TEST_F(QueueCommandsTest, HistoryIsATableOrTheMessageItself) {
  const Ran ran = Run({"history", "research"});
  EXPECT_EQ(ran.exit_code, kExitDone) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("- → Open   state changed"));
  EXPECT_THAT(ran.err, IsEmpty());
  EXPECT_THAT(Run({"history", "research", "-o", "yaml"}).out, HasSubstr("kind: KIND_STATE_CHANGED"));
  const Ran none = Run({"history", "none"});
  EXPECT_EQ(none.exit_code, kExitRefused);
  EXPECT_THAT(none.err, HasSubstr("basaltctl queue list"));
  const Ran empty = Run({"history", "new"});
  EXPECT_EQ(empty.exit_code, kExitDone);
  EXPECT_THAT(empty.out, IsEmpty());
  EXPECT_THAT(empty.err, HasSubstr("No decisions about queue new are kept"));
}

}  // namespace
}  // namespace basalt::cli
