// Queues and their counts, and what clients that watch are shown of them, by a controller that is killed anywhere, or
// whose writes are lost, over an API server in memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/kube/kinds.h"
#include "common/runtime/testing/shown_records.h"
#include "common/testing/controller_rig/controller_rig.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc {
namespace {

using basalt::testing::Fate;
using basalt::testing::RigKube;

class QueueRig : public basalt::testing::ControllerRig {
 public:
  QueueRig()
      : ControllerRig({.service = gateway::v1::SERVICE_KIND_QUEUE, .controller = [this](runtime::Context& context) {
                         auto made = std::make_unique<QueueController>(context, nullptr, QueueControllerOptions());
                         made->publisher().SetListener([this](const runtime::ShownChange& change) {
                           if (change.kind == runtime::ShownChange::Kind::kGone) told_gone.push_back(change.key);
                         });
                         return made;
                       }}) {}
  ~QueueRig() override { Shutdown(); }

  QueueController& controller() { return static_cast<QueueController&>(any_controller()); }

  std::vector<std::string> told_gone;  // Of all processes: the names of what clients that watch were told to be gone.

  // A member of the queue as it is stored: an object; empty where there is none.
  json::value MemberOf(std::string_view queue, std::string_view member) {
    const auto stored = server().server().Get(RigKube::ResourceOf(kube::kQueues), "", queue);
    const json::value* found = stored == nullptr ? nullptr : Find(*stored, member);
    return found == nullptr ? json::object() : *found;
  }
  std::string UidOfGroup(std::string_view group) {
    const auto stored = server().server().Get(RigKube::ResourceOf(kube::kPodGroups), "default", group);
    return std::string(FindString(stored->at("metadata"), "uid"));
  }
  // How often the history of the queue tells that it was made.
  int TimesMade(const std::string& queue) {
    const auto entries =
        controller().records().EntriesOf(queue, std::string(FindString(MemberOf(queue, "metadata"), "uid")));
    EXPECT_TRUE(entries.ok()) << entries.status();
    int count = 0;
    if (!entries.ok()) return count;
    for (const storage::v1::QueueHistoryRecord& entry : *entries) {
      count += entry.kind() == storage::v1::QueueHistoryRecord::KIND_CREATED ? 1 : 0;
    }
    return count;
  }

  // What users and pgsvc do.
  void MakeObjects() {
    server().Create(kube::kQueues, json::object{{"metadata", json::object{{"name", "q"}}}, {"spec", json::object()}});
    MakeGroup("a", "q", "Running");
    MakeGroup("b", "q", "Pending");
    MakeGroup("c", "default", "Running");
  }
  void MakeGroup(const std::string& name, std::string_view queue, std::string_view phase) {
    server().Create(kube::kPodGroups, json::object{{"metadata", json::object{{"namespace", "default"}, {"name", name}}},
                                                   {"spec", json::object{{"minMember", 1}, {"queue", queue}}},
                                                   {"status", json::object{{"phase", phase}}}});
  }

  void ExpectQueue(std::string_view queue, int running, int pending) {
    SCOPED_TRACE(queue);
    const json::value status = MemberOf(queue, "status");
    EXPECT_EQ(FindString(status, "state"), "Open");
    EXPECT_EQ(FindInt(status, "running"), running);
    EXPECT_EQ(FindInt(status, "pending"), pending);
    EXPECT_EQ(FindString(MemberOf(queue, "spec"), "parent"), queue == "root" ? "" : "root");
  }
  void ExpectAllThere() {
    ExpectQueue("root", 0, 0);
    ExpectQueue("default", 1, 0);
    ExpectQueue("q", 1, 1);
  }
  void ExpectNothingIsWrittenAgain() {
    server().ClearLog();
    Run(absl::Minutes(1));
    EXPECT_TRUE(server().log().empty());
  }
  void ExpectShownIsRecorded() { runtime::testing::ExpectShownIsRecorded(controller(), store()); }
};

TEST(QueueRigTest, WhereverTheProcessIsKilledQueuesAreThereAndTheirCountsAreRight) {
  for (const bool loses_disk : {false, true}) {
    bool was_killed = true;
    int point = 0;
    while (was_killed) {
      SCOPED_TRACE(fmt::format("killed at point {}{}", ++point, loses_disk ? ", disk lost" : ""));
      QueueRig rig;
      rig.KillAt(point);
      rig.Start();
      rig.MakeObjects();
      rig.Run(absl::Seconds(10));
      was_killed = !rig.alive();
      if (was_killed) {
        if (loses_disk) rig.LoseDisk();
        rig.Start();
      }
      rig.KillAt(0);
      rig.Run(absl::Seconds(10));
      rig.ExpectAllThere();
      rig.ExpectNothingIsWrittenAgain();
      rig.ExpectShownIsRecorded();
      for (const char* made : {"root", "default"}) {
        EXPECT_LE(rig.TimesMade(made), 1) << made;
        EXPECT_TRUE(was_killed || rig.TimesMade(made) == 1) << made;
      }
    }
    EXPECT_GT(point, 8) << "it has made two queues, and recorded it";
  }
}

TEST(QueueRigTest, WhicheverWriteIsLostQueuesAreThereAndTheirCountsAreRight) {
  for (const Fate fate : {Fate::kNotSent, Fate::kLostRequest, Fate::kLostAnswer}) {
    int lost = 0;
    bool was_lost = true;
    while (was_lost) {
      SCOPED_TRACE(fmt::format("fate {} of write {}", static_cast<int>(fate), ++lost));
      QueueRig rig;
      int writes = 0;
      rig.fate = [&](const gateway::v1::WriteRequest&) { return ++writes == lost ? fate : Fate::kNormal; };
      rig.Start();
      rig.MakeObjects();
      rig.Run(absl::Minutes(1));
      was_lost = writes >= lost;
      rig.fate = nullptr;
      rig.ExpectAllThere();
      rig.ExpectNothingIsWrittenAgain();
      rig.ExpectShownIsRecorded();
    }
    EXPECT_GT(lost, 4) << "it has made two queues, and said their state";
  }
}

// What is counted is what is there when the slot comes back.
TEST(QueueRigTest, GroupsThatWentWhileNobodyRanAreNotCounted) {
  QueueRig rig;
  rig.Start();
  rig.MakeObjects();
  rig.Run(absl::Seconds(10));
  rig.ExpectAllThere();
  rig.Kill();
  rig.server().Delete(kube::kPodGroups, "default", "a");
  rig.Start();
  rig.Run(absl::Seconds(10));
  rig.ExpectQueue("q", 0, 1);
  rig.ExpectShownIsRecorded();
}

TEST(QueueRigTest, AQueueThatWentWhileNobodyRanIsToldAsGone) {
  QueueRig rig;
  rig.Start();
  rig.MakeObjects();
  rig.Run(absl::Seconds(10));
  rig.Kill();
  rig.server().Delete(kube::kQueues, "", "q");
  rig.Start();
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.told_gone, std::vector<std::string>{"q"});
  rig.ExpectShownIsRecorded();
}

// Absence is not deletion (design rule 1).
TEST(QueueRigTest, AGroupThatTheNextSnapshotLeavesOutIsCountedOnceItIsSeen) {
  QueueRig rig;
  rig.Start();
  rig.MakeObjects();
  rig.Run(absl::Seconds(10));
  rig.Kill();
  rig.uncertain.insert(rig.UidOfGroup("a"));
  rig.Start();
  rig.Run(absl::Seconds(10));
  EXPECT_THAT(rig.told_gone, ::testing::IsEmpty());
  rig.server().Merge(kube::kPodGroups, "default", "a",
                     json::object{{"metadata", json::object{{"labels", json::object{{"seen", "now"}}}}}});
  rig.Run(absl::Seconds(10));
  EXPECT_THAT(rig.told_gone, ::testing::IsEmpty());
  rig.ExpectAllThere();
  rig.ExpectNothingIsWrittenAgain();
  rig.ExpectShownIsRecorded();
}

// The same.
TEST(QueueRigTest, AQueueThatTheNextSnapshotLeavesOutIsNotToldAsGone) {
  QueueRig rig;
  rig.Start();
  rig.MakeObjects();
  rig.Run(absl::Seconds(10));
  rig.Kill();
  rig.uncertain.insert(std::string(FindString(rig.MemberOf("q", "metadata"), "uid")));
  rig.Start();
  rig.Run(absl::Seconds(10));
  EXPECT_THAT(rig.told_gone, ::testing::IsEmpty());
  rig.server().Merge(kube::kQueues, "", "q",
                     json::object{{"metadata", json::object{{"labels", json::object{{"seen", "now"}}}}}});
  rig.Run(absl::Seconds(10));
  EXPECT_THAT(rig.told_gone, ::testing::IsEmpty());
  rig.ExpectAllThere();
  rig.ExpectShownIsRecorded();
}

}  // namespace
}  // namespace basalt::queuesvc
