// Many queues, many pod groups, and a scheduler that writes into the same status.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "services/queuesvc/testing/queue_rig.h"

namespace basalt::queuesvc::testing {
namespace {

constexpr absl::Duration kPublishInterval = QueueControllerOptions().publish_interval;

int64_t Running(QueueRig& rig, std::string_view queue) { return FindInt(rig.MemberOf(queue, "status"), "running"); }

// Answers take a second: queues far below are closed long after the Command.
TEST(QueueCrowdTest, TwoThousandQueuesAreClosedByOneWriteEachWhileOthersCountOn) {
  constexpr int kMiddle = 40;
  constexpr int kBelowEach = 49;
  QueueRig rig;
  rig.Start();
  rig.MakeQueue("other", "root");
  rig.MakeQueue("p", "root");
  for (int i = 0; i < kMiddle; ++i) {
    rig.MakeQueue(fmt::format("m-{}", i), "p");
    for (int k = 0; k < kBelowEach; ++k) rig.MakeQueue(fmt::format("m-{}-{}", i, k), fmt::format("m-{}", i));
  }
  rig.Run(absl::Minutes(1));
  rig.server().ClearLog();
  rig.answers_late = [](const gateway::v1::WriteRequest& request) {
    return request.name() == "other" ? absl::ZeroDuration() : absl::Seconds(1);
  };
  rig.Command("close", "p", kCloseQueue);

  // The number of pod groups in the other queue, with the time of each; it must be published once the interval is over.
  std::deque<std::pair<absl::Time, int>> made;
  const absl::Duration most = kPublishInterval + absl::Milliseconds(5);  // With the time that messages take.
  for (int i = 1; i <= 50; ++i) {
    rig.MakeGroup(fmt::format("g-{}", i), "other", "Running");
    made.emplace_back(rig.server().Now(), i);
    rig.Run(absl::Milliseconds(103));
    if (i == 10) {
      EXPECT_EQ(rig.StateOf("m-0-0"), "Open") << "it is about to be closed";
    }
    while (made.size() > 1 && made[1].first <= rig.server().Now() - most) made.pop_front();
    if (made[0].first > rig.server().Now() - most) continue;
    EXPECT_GE(Running(rig, "other"), made[0].second) << "after " << i;
  }
  EXPECT_LE(rig.server().Count("patch", "queues/status", "other"), 7) << "one a second";

  rig.Run(absl::Minutes(1));
  EXPECT_EQ(Running(rig, "other"), 50);
  EXPECT_EQ(rig.StateOf("other"), "Open");
  std::map<std::string, int> writes;
  for (const auto& entry : rig.server().log()) {
    if (entry.plural == "queues/status") ++writes[entry.name];
  }
  writes.erase("other");
  EXPECT_EQ(writes.size(), 1 + kMiddle + kMiddle * kBelowEach);
  for (const auto& [name, count] : writes) {
    EXPECT_EQ(count, 1) << name;
    EXPECT_EQ(rig.StateOf(name), "Closed") << name;
    EXPECT_EQ(rig.MarkOf(name), name == "p" ? "" : "true") << name;
  }
  rig.ExpectNothingIsWrittenAgain();
}

// Writes as the scheduler does: by a PUT of the whole status as it was read, which is refused if another write came in
// between.
class Scheduler {
 public:
  explicit Scheduler(QueueRig& rig) : rig_(rig) {}

  // Reads the queue that Put writes.
  void Read() { read_ = *rig_.server().server().Get(RigKube::ResourceOf(kube::kQueues), "", "q"); }
  void Put(int cpus) {
    json::object& queue = read_.as_object();
    if (Find(read_, "status") == nullptr) queue["status"] = json::object();
    queue["status"].as_object()["allocated"] = json::object{{"cpu", std::to_string(cpus)}};
    const http::Response answer = rig_.server().Ask({.method = "PUT",
                                                     .target = "/apis/scheduling.volcano.sh/v1beta1/queues/q/status",
                                                     .headers = {{"Content-Type", "application/json"}},
                                                     .body = ToText(read_)});
    rig_.server().Sync();
    EXPECT_THAT(answer.status, ::testing::AnyOf(200, 409)) << answer.body;
    if (answer.status == 200) accepted_ = std::to_string(cpus);
    (answer.status == 200 ? written_ : refused_) += 1;
  }
  // The status has the value of the last write that was accepted.
  void ExpectKept() {
    const json::value status = rig_.MemberOf("q", "status");
    const json::value* const allocated = Find(status, "allocated");
    ASSERT_EQ(allocated == nullptr, accepted_.empty()) << accepted_;
    if (allocated == nullptr) return;
    EXPECT_EQ(FindString(*allocated, "cpu"), accepted_);
  }
  int written() const { return written_; }
  int refused() const { return refused_; }

 private:
  QueueRig& rig_;
  json::value read_;
  std::string accepted_;
  int written_ = 0;
  int refused_ = 0;
};

// The scheduler writes from the creation of the queue on, ten times a second, and three milliseconds after each read.
TEST(QueueCrowdTest, TheAllocationIsKeptWhileAHundredGroupsChange) {
  constexpr int kGroups = 100;
  QueueRig rig;
  rig.Start();
  rig.Run(absl::Seconds(10));
  rig.server().ClearLog();
  rig.MakeQueue("q", "");
  Scheduler scheduler(rig);
  const auto allocate = [&](int cpus) {
    scheduler.Read();
    rig.Run(absl::Milliseconds(3));
    scheduler.Put(cpus);
    scheduler.ExpectKept();
    rig.Run(absl::Milliseconds(97));
    scheduler.ExpectKept();
  };
  for (int i = 0; i < kGroups; ++i) {
    rig.MakeGroup(fmt::format("g-{}", i), "q", "Pending");
    if (i % 10 == 0) allocate(i + 1);
  }
  constexpr const char* kPhases[] = {"Inqueue", "Running", "Unknown", "Completed"};
  int cpus = kGroups;
  for (const char* phase : kPhases) {
    for (int i = 0; i < kGroups; ++i) {
      rig.server().Merge(kube::kPodGroups, "default", fmt::format("g-{}", i),
                         json::object{{"status", json::object{{"phase", phase}}}});
      if (i % 3 == 0) allocate(++cpus);
    }
  }
  rig.Run(absl::Seconds(10));
  scheduler.ExpectKept();
  EXPECT_GT(scheduler.written(), kGroups);
  EXPECT_GT(scheduler.refused(), 0) << "a write of ours was between";
  const json::value status = rig.MemberOf("q", "status");
  EXPECT_EQ(FindString(status, "state"), "Open");
  EXPECT_EQ(FindInt(status, "completed"), kGroups);
  for (const char* none : {"pending", "inqueue", "running", "unknown"}) EXPECT_EQ(FindInt(status, none), 0) << none;
  rig.ExpectNothingIsWrittenAgain();
}

}  // namespace
}  // namespace basalt::queuesvc::testing
