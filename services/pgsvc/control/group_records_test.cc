// The records of the controller's decisions, over retries, restarts, moves and a lost disk.
#include "services/pgsvc/control/group_records.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/runtime/slots/slot_records.h"
#include "common/runtime/testing/scripted_context.h"
#include "services/pgsvc/control/pod_group_controller.h"
#include "services/pgsvc/core/testing.h"

namespace basalt::pgsvc {
namespace {

using runtime::testing::Done;
using runtime::testing::Refused;
using ::testing::ElementsAre;

constexpr char kKey[] = "default/train-uid";

// One replica, which may be started again on its store.
class Process {
 public:
  Process() { Start(); }
  void Start() {
    controller = nullptr;  // This is a kill: nothing is written on the way.
    controller = std::make_unique<PodGroupController>(context, GroupingOptions(), limits);
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) EXPECT_TRUE(controller->OpenSlot(slot).ok());
  }
  void Kill() {
    context.writes.clear();
    context.gets.clear();
    Start();
  }

  history::Limits limits;
  runtime::testing::ScriptedContext context;
  std::unique_ptr<PodGroupController> controller;
};

kube::v1::Object Group(const std::string& uid, const std::string& job_uid = "job-1", int min_member = 1,
                       const std::string& version = "") {
  kube::v1::Object object;
  kube::v1::ObjectMeta& meta = *object.mutable_pod_group()->mutable_meta();
  meta.set_namespace_("default");
  meta.set_name("train-uid");
  meta.set_uid(uid);
  kube::v1::OwnerReference& owner = *meta.add_owner_references();
  owner.set_controller(true);
  owner.set_uid(job_uid);
  if (!version.empty()) {
    kube::v1::KeyValue& annotation = *meta.add_annotations();
    annotation.set_key(std::string(kube::kBasaltVersionKey));
    annotation.set_value(version);
  }
  object.mutable_pod_group()->mutable_spec()->set_min_member(min_member);
  return object;
}

class GroupRecordsTest : public ::testing::Test {
 protected:
  void Ensure(int min_member = 1, int version = 1) {
    podgroup::v1::EnsurePodGroupRequest request;
    request.set_namespace_("default");
    request.set_name("train-uid");
    request.set_job_name("train");
    request.set_job_uid("job-1");
    request.set_version(version);
    request.mutable_spec()->set_min_member(min_member);
    process_.controller->EnsurePodGroup(std::move(request), [](const auto&) {});
    RunPasses();
  }
  void Delete(const std::string& uid) {
    podgroup::v1::DeletePodGroupRequest request;
    request.set_namespace_("default");
    request.set_name("train-uid");
    request.set_uid(uid);
    request.set_job_uid("job-1");
    process_.controller->DeletePodGroup(std::move(request), [](const auto&) {});
  }
  void Show(kube::v1::Object object) {
    process_.controller->OnState(kKey, std::string(kube::kWatchPodGroups), std::move(object));
  }
  // The oldest write has made the group what it is now.
  void Carry(const kube::v1::Object& object) {
    Show(object);
    Answer(Done(object));
  }
  void CarryDeletion(const std::string& uid) {
    process_.controller->OnGone(kKey, {.uid = uid});
    runtime::WriteOutcome outcome = Done(Group(uid));
    outcome.gone = true;
    Answer(std::move(outcome));
  }
  void Answer(runtime::WriteOutcome outcome) {
    ASSERT_FALSE(process_.context.writes.empty());
    process_.context.Answer(std::move(outcome), *process_.controller);
  }
  void AnswerRead(const kube::v1::Object& group) {
    ASSERT_EQ(process_.context.gets.size(), 1U);
    gateway::v1::GetResponse response;
    *response.mutable_object() = group;
    process_.context.Answer(std::move(response), *process_.controller);
  }
  void RunPasses() { process_.context.RunPasses(*process_.controller); }

  static std::vector<std::string> TextOf(const GroupRecords::History& read) {
    constexpr const char* kNames[] = {"", "created", "updated", "deleted", "refused", "foreign"};
    std::vector<std::string> texts;
    for (const auto& entry : read.entries) {
      texts.push_back(fmt::format("{} {} {}", entry.sequence(), kNames[entry.decision()], entry.uid()));
      for (const std::string& field : entry.fields()) texts.back() += " " + field;
      if (!entry.message().empty()) texts.back() += ": " + entry.message();
    }
    return texts;
  }
  // Returns texts like "1 created pg-1"; none if there is no history.
  std::vector<std::string> History() { return HistoryOf(process_); }
  static std::vector<std::string> HistoryOf(Process& process) {
    const auto read = process.controller->records().Read(SlotOf(kKey), kKey);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() && *read ? TextOf(**read) : std::vector<std::string>();
  }
  int64_t GoneMs() {
    const auto read = process_.controller->records().Read(SlotOf(kKey), kKey);
    return read.ok() && *read ? (*read)->gone_ms : -1;
  }
  // Whether the next pass of the group records something.
  bool Records() {
    kv::WriteBatch batch;
    process_.controller->Decide(kKey, batch);
    return !batch.empty();
  }

  Process process_;
};

TEST_F(GroupRecordsTest, EachDecisionIsRecordedWithWhatItWasFor) {
  Ensure();
  Carry(Group("pg-1"));
  Ensure(4);
  Carry(Group("pg-1", "job-1", 4));
  Show(Group("pg-1", "job-1", 4, "1"));
  Ensure(4, 2);
  CarryDeletion("pg-1");
  Carry(Group("pg-2", "job-1", 4, "2"));
  Delete("pg-2");
  CarryDeletion("pg-2");
  EXPECT_THAT(History(), ElementsAre("1 created pg-1", "2 updated pg-1 minMember",
                                     "3 deleted pg-1: it is of an older version: the job is at version 2",
                                     "4 created pg-2", "5 deleted pg-2: its job wants none any more"));
  EXPECT_GT(GoneMs(), 0);
}

TEST_F(GroupRecordsTest, WhereNothingIsDecidedNothingIsWritten) {
  Ensure();
  Carry(Group("pg-1"));
  const auto before = History();
  for (int i = 0; i < 3; ++i) {
    Ensure();
    Show(Group("pg-1"));
    EXPECT_FALSE(Records());
  }
  EXPECT_EQ(History(), before);
}

TEST_F(GroupRecordsTest, ARefusalIsToldOnceInItsWordsOverRetriesAndARestart) {
  const auto refuse = [this](const std::string& words) {
    Ensure();
    Answer(Refused(403, "Forbidden", words));
  };
  refuse("no quota");
  Ensure();
  process_.context.writes.front().done(Refused(403, "Forbidden", "no quota"));
  process_.context.writes.clear();
  EXPECT_FALSE(Records()) << "it says nothing new";
  process_.Kill();
  refuse("no quota");
  refuse("the queue is closed");
  Ensure();
  Carry(Group("pg-1"));
  EXPECT_THAT(History(), ElementsAre("1 refused : no quota", "2 refused : the queue is closed", "3 created pg-1"));
}

TEST_F(GroupRecordsTest, WhatOverloadRefusesIsTriedAgainAndNotTold) {
  Ensure();
  Answer(Refused(429, "TooManyRequests", "later"));
  EXPECT_THAT(History(), ElementsAre());
}

TEST_F(GroupRecordsTest, AForeignGroupIsToldOnce) {
  Show(Group("pg-0", "another"));
  for (int i = 0; i < 3; ++i) Ensure();
  EXPECT_THAT(History(), ElementsAre("1 foreign pg-0: its owner has UID another, the job job-1"));
  EXPECT_TRUE(process_.context.writes.empty());
}

TEST_F(GroupRecordsTest, AWriteOfUnknownOutcomeIsToldByWhatIsReadSince) {
  for (const bool was_made : {true, false}) {
    SCOPED_TRACE(was_made);
    process_.Kill();
    Ensure();
    Answer({.kind = runtime::WriteOutcome::Kind::kUnknown});
    AnswerRead(Group("pg-1", was_made ? "job-1" : "another"));
    EXPECT_EQ(History().front(), "1 created pg-1");
  }
  EXPECT_EQ(History().size(), 2U) << "another's was found in the second";
}

TEST_F(GroupRecordsTest, AKillLosesNothingOfWhatAPassHasRecorded) {
  Ensure();
  Carry(Group("pg-1"));
  process_.Kill();
  EXPECT_THAT(History(), ElementsAre("1 created pg-1"));
  Show(Group("pg-1"));
  Ensure(2);
  Carry(Group("pg-1", "job-1", 2));
  EXPECT_THAT(History(), ElementsAre("1 created pg-1", "2 updated pg-1 minMember"));
}

TEST_F(GroupRecordsTest, AGroupThatGoesByItselfAfterARestartEndsItsHistory) {
  Ensure();
  Carry(Group("pg-1"));
  process_.Kill();
  Show(Group("pg-1"));
  process_.context.Advance(absl::Seconds(5));
  process_.controller->OnGone(kKey, {.uid = "pg-1"});
  process_.context.Wake(kKey);
  RunPasses();
  EXPECT_EQ(GoneMs(), absl::ToUnixMillis(process_.context.ApiNow()));
  Ensure();
  Carry(Group("pg-2"));
  EXPECT_EQ(GoneMs(), 0) << "there is one again";
  EXPECT_THAT(History(), ElementsAre("1 created pg-1", "2 created pg-2"));
}

TEST_F(GroupRecordsTest, ALostDiskCostsHistoryAndNothingElse) {
  Ensure();
  Carry(Group("pg-1"));
  Process anew;
  EXPECT_THAT(HistoryOf(anew), ElementsAre());
  anew.controller->OnState(kKey, std::string(kube::kWatchPodGroups), Group("pg-1"));
  podgroup::v1::DeletePodGroupRequest request;
  request.set_namespace_("default");
  request.set_name("train-uid");
  request.set_uid("pg-1");
  request.set_job_uid("job-1");
  anew.controller->DeletePodGroup(request, [](const auto&) {});
  anew.context.Answer(Done(), *anew.controller);
  EXPECT_THAT(HistoryOf(anew), ElementsAre("1 deleted pg-1: its job wants none any more"));
}

TEST_F(GroupRecordsTest, TheNextOwnerOfTheSlotHasTheHistory) {
  Ensure();
  Carry(Group("pg-1"));
  const uint32_t slot = SlotOf(kKey);
  kv::WriteBatch owned;
  runtime::PutSlotEpoch(slot, 7, owned);
  ASSERT_TRUE(process_.context.store().Write(owned).ok());
  Process next;
  for (const auto part :
       {replica::v1::ExportRecordsRequest::PART_CONTROL, replica::v1::ExportRecordsRequest::PART_HISTORY}) {
    replica::v1::ExportRecordsRequest request;
    request.set_part(part);
    replica::v1::SlotOfEpoch& asked = *request.add_slots();
    asked.set_slot(slot);
    asked.set_epoch(7);
    const auto page = runtime::ReadPage(process_.context.store(), request);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_TRUE(page->next_cursor().empty());
    kv::WriteBatch batch;
    for (const auto& record : page->records()) ASSERT_TRUE(runtime::PutRecord(record, part, slot, batch).ok());
    ASSERT_TRUE(next.context.store().Write(batch).ok());
  }
  EXPECT_EQ(HistoryOf(next), History());
}

TEST_F(GroupRecordsTest, GroupsThatAreGoneAreForgottenAfterTheirTime) {
  process_.limits.age = absl::Hours(2);
  process_.Kill();
  Ensure();
  Carry(Group("pg-1"));
  process_.context.Advance(absl::Hours(5));
  EXPECT_THAT(History(), ElementsAre("1 created pg-1")) << "it is there";
  Delete("pg-1");
  CarryDeletion("pg-1");
  process_.context.Advance(absl::Hours(1));
  EXPECT_EQ(History().size(), 2U);
  process_.context.Advance(absl::Hours(3));
  EXPECT_THAT(History(), ElementsAre());
}

// Each group that admission refuses (weakness W9) backs off by itself.
TEST_F(GroupRecordsTest, FiveHundredRefusedGroupsStallNoOther) {
  const auto show_pod = [this](const std::string& name, const std::string& group) {
    kube::v1::Object object;
    *object.mutable_pod() = testing::BarePod();
    object.mutable_pod()->set_name(name);
    object.mutable_pod()->set_uid(name);
    object.mutable_pod()->set_group_name(group);
    const std::string key = kube::ObjectKey("ns", "podgroup-" + name);
    process_.controller->OnState(key, "pods/scheduler=volcano", std::move(object));
    process_.context.Wake(key);
    RunPasses();
  };
  const auto is_group = [](const auto& write) { return write.request.resource().plural() == "podgroups"; };
  for (int i = 0; i < 500; ++i) show_pod(fmt::format("refused-{}", i), "");
  int refusals = 0;
  int others = 0;
  for (int second = 0; second < 60; ++second) {
    while (!process_.context.writes.empty()) {
      const bool group = is_group(process_.context.writes.front());
      const gateway::v1::WriteRequest& request = process_.context.writes.front().request;
      if (request.resource().plural() == "pods") show_pod(request.name(), "podgroup-" + request.name());
      refusals += group ? 1 : 0;
      Answer(group ? Refused(403, "Forbidden", "denied by admission") : Done());
    }
    if (second % 10 == 5) {
      show_pod(fmt::format("good-{}", second), "");
      ASSERT_EQ(process_.context.writes.size(), 1U) << "it is made at once";
      EXPECT_TRUE(is_group(process_.context.writes.front()));
      ++others;
      kube::v1::Object made;
      made.mutable_pod_group()->mutable_meta()->set_uid("pg");
      process_.controller->OnState(process_.context.writes.front().key, std::string(kube::kWatchPodGroups),
                                   kube::v1::Object(made));
      Answer(Done(made));
    }
    process_.context.Advance(absl::Seconds(1), *process_.controller);
  }
  EXPECT_EQ(others, 6);
  EXPECT_LT(refusals, 500 * 12) << "each backs off: 0.2 s, 0.4 s, … up to a minute";
  EXPECT_GT(refusals, 500 * 4);
  const auto read = process_.controller->records().Read(SlotOf("ns/podgroup-refused-7"), "ns/podgroup-refused-7");
  ASSERT_TRUE(read.ok() && *read);
  EXPECT_EQ((*read)->entries.size(), 1U) << "told once";
}

}  // namespace
}  // namespace basalt::pgsvc
