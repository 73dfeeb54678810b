// The watch of queues.
#include "services/queuesvc/api/queue_watch.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/rpc/watch/merged_watch.h"
#include "common/rpc/watch/testing.h"
#include "common/runtime/testing/scripted_context.h"
#include "common/runtime/watch/watch_part.h"
#include "services/queuesvc/api/queue_api.h"

namespace basalt::queuesvc {
namespace {

using queue::v1::WatchQueuesResponse;

class QueueWatchTest : public ::testing::Test, private QueueWorkers {
 protected:
  using Watch = rpc::MergedWatch<WatchedQueues>;

  QueueWatchTest() { Start(); }
  // Starts a process on the disk of the one before.
  void Start() {
    controller_ =
        std::make_unique<QueueController>(context_, nullptr, QueueControllerOptions{.create_default_queues = false});
    runtime::PublishChanges<WatchedQueues>(*controller_, *hub_);
    known_.clear();
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) {
      const auto known = controller_->OpenSlot(slot);
      ASSERT_TRUE(known.ok()) << known.status();
      known_.insert(known_.end(), known->begin(), known->end());
    }
  }
  void Stop() {
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) controller_->CloseSlot(slot);
    controller_.reset();
  }
  // The watch reports the queue as Kubernetes has it.
  void Observe(const std::string& name, int64_t version, bool gone = false) {
    kube::v1::Object object;
    kube::v1::Queue& queue = *object.mutable_queue();
    queue.mutable_meta()->set_name(name);
    queue.mutable_meta()->set_uid(name + "-uid");
    queue.mutable_meta()->set_resource_version(version);
    queue.set_parent("root");
    queue.set_state("Open");
    controller_->OnShared(std::string(kube::kWatchQueues), object, gone);
  }
  void Put(const std::string& name, int64_t version, bool gone = false) {
    Observe(name, version, gone);
    context_.RunPasses(*controller_);
  }
  // The marks of the watch prove that the queue is gone.
  void ObserveAbsence(const std::string& name) {
    controller_->OnGone(name, {.reason = runtime::Gone::Reason::kAbsent,
                               .watch = std::string(kube::kWatchQueues),
                               .uid = name + "-uid",
                               .name = name});
    context_.Wake(name);
    context_.RunPasses(*controller_);
  }
  void PutGroup(const std::string& queue, const std::string& uid) {
    kube::v1::Object object;
    object.mutable_pod_group()->mutable_meta()->set_uid(uid);
    object.mutable_pod_group()->set_phase("Running");
    controller_->OnState(queue, std::string(kube::kWatchPodGroups), std::move(object));
    context_.Wake(queue);
    context_.RunPasses(*controller_);
  }
  std::unique_ptr<Watch> Open(const std::string& name = "", const std::string& token = "") {
    queue::v1::WatchQueuesRequest request;
    request.set_name(name);
    request.set_token(token);
    const auto part = [this](const gateway::v1::Member&, const queue::v1::WatchPartRequest& asked,
                             std::function<void()> notify) { return api_.WatchPart(asked, std::move(notify)); };
    return std::make_unique<Watch>(context_.loop(), members_, part, request, [] {});
  }
  std::string Drain(Watch& watch) { return reader_.Drain(watch); }

  runtime::testing::ScriptedContext context_;
  std::vector<runtime::KnownObject> known_;  // Objects that the last started process remembers.
  const std::shared_ptr<watch::WatchHub> hub_ = std::make_shared<watch::WatchHub>();
  std::unique_ptr<QueueController> controller_;
  rpc::testing::OneMember members_{"queuesvc-0"};
  QueueApi api_{*this, hub_};
  rpc::testing::WatchReader<WatchQueuesResponse, &WatchQueuesResponse::has_queue, &WatchQueuesResponse::queue> reader_;

 private:
  size_t count() const override { return 1; }
  void OnWorkerOf(uint32_t, Task task) override { task(*controller_); }
  void OnWorker(size_t, Task task) override { task(*controller_); }
};

TEST_F(QueueWatchTest, BeginsWithWhatThereIsAndGoesOnWithWhatChanges) {
  Put("a", 1);
  const auto watch = Open();
  EXPECT_EQ(Drain(*watch), "STATE a, SYNCED");
  PutGroup("a", "group");
  EXPECT_EQ(Drain(*watch), "STATE a");
  EXPECT_EQ(reader_.last.pod_groups().running(), 1);
  PutGroup("a", "group");
  EXPECT_EQ(Drain(*watch), "") << "nothing has changed";
  Put("b", 2);
  EXPECT_EQ(Drain(*watch), "STATE b");
  Put("b", 3, /*gone=*/true);
  EXPECT_EQ(Drain(*watch), "DELETED b");
  EXPECT_EQ(reader_.last.object().meta().uid(), "b-uid");
}

TEST_F(QueueWatchTest, AWatchOfOneQueueIsAboutItsSlotAlone) {
  Put("a", 1);
  Put("b", 2);
  const auto watch = Open("a");
  EXPECT_EQ(Drain(*watch), "STATE a, SYNCED");
  Put("b", 3);
  EXPECT_EQ(Drain(*watch), "");
  Put("a", 4);
  EXPECT_EQ(Drain(*watch), "STATE a");
  EXPECT_FALSE(reader_.token.empty()) << "with every state of a watch of one queue";
}

TEST_F(QueueWatchTest, GoesOnByItsTokenOverARestartAndKnowsWhatWentMeanwhile) {
  for (const char* name : {"a", "b", "c"}) Put(name, 1);
  Drain(*Open());
  Stop();
  Start();
  Observe("a", 1);
  Observe("b", 5);
  context_.RunPasses(*controller_);
  ObserveAbsence("c");
  const std::string texts = Drain(*Open("", reader_.token));
  EXPECT_TRUE(texts == "STATE b, DELETED c, SYNCED" || texts == "DELETED c, STATE b, SYNCED") << texts;
}

TEST_F(QueueWatchTest, AQueueThatIsNotSeenYetIsNotGone) {
  for (const char* name : {"a", "b"}) Put(name, 1);
  Drain(*Open());
  Stop();
  Start();
  ASSERT_EQ(known_.size(), 2U);
  EXPECT_EQ(known_[0].watch, kube::kWatchQueues);
  EXPECT_EQ(known_[0].uid, known_[0].name + "-uid");
  EXPECT_EQ(known_[0].resource_version, 1);
  Observe("b", 1);
  context_.RunPasses(*controller_);
  const auto watch = Open();
  const auto resumed = Open("", reader_.token);
  EXPECT_EQ(Drain(*watch), "STATE b");
  EXPECT_EQ(Drain(*resumed), "SYNCED");
  Put("a", 1);
  EXPECT_EQ(Drain(*watch), "STATE a, SYNCED");
  ObserveAbsence("a");
  EXPECT_EQ(Drain(*watch), "") << "it is there, whatever the marks of before prove";
}

TEST_F(QueueWatchTest, AnAnswerThatComesAfterTheEndDoesNotBringAQueueBack) {
  Put("a", 5);
  PutGroup("a", "group");
  const auto watch = Open();
  EXPECT_EQ(Drain(*watch), "STATE a, SYNCED");
  ASSERT_FALSE(context_.writes.empty());
  Put("a", 7, /*gone=*/true);
  EXPECT_EQ(Drain(*watch), "DELETED a");
  kube::v1::Object answer;
  answer.mutable_queue()->mutable_meta()->set_name("a");
  answer.mutable_queue()->mutable_meta()->set_uid("a-uid");
  answer.mutable_queue()->mutable_meta()->set_resource_version(6);
  controller_->OnState("a", std::string(kube::kWatchQueues), kube::v1::Object(answer));
  context_.Answer(runtime::testing::Done(answer), *controller_);
  EXPECT_EQ(Drain(*watch), "");
  EXPECT_EQ(controller_->queues().Find("a"), nullptr);
}

// The answer to a write of ours is newer than the last state that the watch has reported.
TEST_F(QueueWatchTest, AQueueIsGoneWhateverTheVersionThatItHadLast) {
  Put("a", 5);
  const auto watch = Open();
  EXPECT_EQ(Drain(*watch), "STATE a, SYNCED");
  Put("a", 4, /*gone=*/true);
  EXPECT_EQ(Drain(*watch), "DELETED a");
}

}  // namespace
}  // namespace basalt::queuesvc
