// Tests queues over the whole suite, simulated: root and default are made, and queues are opened and counted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "common/base/slots.h"
#include "services/queuesvc/store/queue_store.h"
#include "tests/suite/suite_fixture.h"

namespace basalt::simulation {
namespace {

class QueuesTest : public SuiteTest {
 protected:
  QueuesTest() : SuiteTest(5) {}
  json::value Queue(std::string_view name) {
    const auto queue = suite_.api().Get("queues.scheduling.volcano.sh", "", name);
    return queue == nullptr ? json::value() : *queue;
  }
  std::string State(std::string_view name) {
    const json::value queue = Queue(name);
    const json::value* status = Find(queue, "status");
    return status == nullptr ? "" : std::string(FindString(*status, "state"));
  }
  int64_t Count(std::string_view name, std::string_view field) {
    const json::value queue = Queue(name);
    const json::value* status = Find(queue, "status");
    return status == nullptr ? 0 : FindInt(*status, field);
  }
  int QueueWrites() { return Writes("", "queues"); }
  void CreateQueue(const std::string& name) {
    const auto created = suite_.api().CreateObject(*ParseJson(
        R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":")" + name + R"("}})"));
    ASSERT_TRUE(created.ok()) << created.status();
  }
  // Returns the queue's history in the store of that host, as "PARENT_SET STATE_CHANGED".
  std::string HistoryAt(std::string_view host, const std::string& name) {
    const auto store = kv::OpenMemKv(suite_.disk(host));
    const queuesvc::QueueHistories histories(*store);
    const auto queues = histories.ObjectsOf(SlotOf(name), name);
    if (!queues.ok()) return queues.status().ToString();
    std::string text;
    for (const storage::v1::HistoryIndexRecord& queue : *queues) {
      const auto entries = histories.Read(SlotOf(name), queue.uid());
      if (!entries.ok()) return entries.status().ToString();
      for (const storage::v1::QueueHistoryRecord& entry : *entries) {
        text += (text.empty() ? "" : " ") + storage::v1::QueueHistoryRecord::Kind_Name(entry.kind()).substr(5);
      }
    }
    return text;
  }
  // Returns the owners of the queues. Expects that each queue's history is at its owner and nowhere else.
  std::set<std::string> OwnersOf(const std::vector<std::string>& queues) {
    std::set<std::string> owners;
    for (const std::string& name : queues) {
      const std::string owner = suite_.OwnerOf("queuesvc", name);
      owners.insert(owner);
      for (const std::string& host : suite_.EverStarted("queuesvc")) {
        EXPECT_EQ(HistoryAt(host, name), host == owner ? "PARENT_SET STATE_CHANGED" : "") << name << " at " << host;
      }
    }
    return owners;
  }
};

TEST_F(QueuesTest, ANewQueueIsOpenedUnderRootAndARestartWritesNothing) {
  ASSERT_TRUE(suite_.api()
                  .CreateObject(*ParseJson(R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue",)"
                                           R"("metadata":{"name":"team"},"spec":{"weight":2}})"))
                  .ok());
  suite_.time().Advance(absl::Seconds(10));
  EXPECT_EQ(State("team"), "Open");
  EXPECT_EQ(FindString(*FindPath(Queue("team"), {"spec"}), "parent"), "root");
  for (const char* count : {"pending", "inqueue", "running", "unknown", "completed"}) {
    const json::value* const there = FindPath(Queue("team"), {"status", count});
    EXPECT_TRUE(there != nullptr && *there == 0) << count << ": the queue has never held a pod group";
  }
  suite_.api().ClearLog();
  suite_.Kill("queuesvc-0");
  suite_.LoseDisk("queuesvc-0");
  suite_.Start("queuesvc-0");
  suite_.time().Advance(absl::Seconds(20));
  EXPECT_EQ(QueueWrites(), 0);
}

TEST_F(QueuesTest, HistoryGoesWithItsSlotAndSurvivesAKill) {
  std::vector<std::string> queues;
  for (int i = 0; i < 8; ++i) CreateQueue(queues.emplace_back(fmt::format("team-{}", i)));
  suite_.time().Advance(absl::Seconds(10));
  EXPECT_EQ(OwnersOf(queues), std::set<std::string>({"queuesvc-0"}));
  suite_.api().ClearLog();
  suite_.Start("queuesvc-1");
  suite_.time().Advance(absl::Seconds(30));
  EXPECT_EQ(OwnersOf(queues).size(), 2U);
  suite_.Kill("queuesvc-1");
  suite_.Start("queuesvc-1");
  suite_.time().Advance(absl::Seconds(20));
  EXPECT_EQ(OwnersOf(queues).size(), 2U);
  suite_.Leave("queuesvc-0");
  suite_.time().Advance(absl::Seconds(30));
  EXPECT_EQ(OwnersOf(queues), std::set<std::string>({"queuesvc-1"}));
  EXPECT_EQ(QueueWrites(), 0) << "nothing is decided anew";
}

TEST_F(QueuesTest, CountsFollowThePodGroupsAtMostOnceASecond) {
  suite_.time().Advance(absl::Seconds(10));
  suite_.api().ClearLog();
  const absl::Time begin = suite_.time().Now();
  for (int i = 0; i < 5; ++i) {
    suite_.CreateObject(OneTaskJob(fmt::format("j{}", i), 3, "sleep 4"));
  }
  ASSERT_TRUE(suite_.time().AdvanceUntil([&] { return Count("default", "running") == 5; }, absl::Seconds(30)));
  ASSERT_TRUE(
      suite_.time().AdvanceUntil([&] { return suite_.JobPhase("default", "j4") == "Completed"; }, absl::Seconds(60)));
  suite_.time().Advance(absl::Seconds(5));
  EXPECT_EQ(Count("default", "running"), 0);
  EXPECT_LE(QueueWrites(), absl::ToInt64Seconds(suite_.time().Now() - begin) + 1);
}

}  // namespace
}  // namespace basalt::simulation
