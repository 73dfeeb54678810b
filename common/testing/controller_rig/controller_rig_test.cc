#include "common/testing/controller_rig/controller_rig.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/kube/requests.h"

namespace basalt::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Heard = std::vector<std::string>;

constexpr char kKey[] = "default/j";

std::string RecordOf(uint32_t slot, std::string_view key) {
  std::string record;
  kv::PutSlot(record, slot);
  if (!key.empty()) kv::PutText(record, key);
  return record;
}

// Makes a ConfigMap for each job, and remembers the job by its UID.
class Keeper final : public runtime::Controller {
 public:
  Keeper(runtime::Context& context, Heard& heard) : context_(context), heard_(heard) {}

  absl::StatusOr<std::vector<runtime::KnownObject>> OpenSlot(uint32_t slot) override {
    std::vector<runtime::KnownObject> known;
    const std::string begin = RecordOf(slot, "");
    const auto status = context_.store().Scan(kv::Family::kRecords, begin, kv::PrefixEnd(begin),
                                              [&](std::string_view record, std::string_view uid) {
                                                record.remove_prefix(begin.size());
                                                std::string key;
                                                kv::TakeText(record, key);
                                                known.push_back({.watch = std::string(kube::kWatchJobs),
                                                                 .routing_key = key,
                                                                 .uid = std::string(uid),
                                                                 .ns = "default",
                                                                 .name = std::string(kube::SplitKey(key).name)});
                                                return true;
                                              });
    if (!status.ok()) return status;
    return known;
  }
  void CloseSlot(uint32_t slot) override {
    std::erase_if(jobs_, [slot](const auto& entry) { return SlotOf(entry.first) == slot; });
  }
  void OnState(std::string_view key, const std::string&, kube::v1::Object&& object) override {
    heard_.push_back(fmt::format("state {}", key));
    jobs_[std::string(key)].uid = object.job().meta().uid();
  }
  void OnGone(std::string_view key, const runtime::Gone& gone) override {
    const bool absent = gone.reason == runtime::Gone::Reason::kAbsent;
    heard_.push_back(fmt::format("{} {}", absent ? "absent" : "gone", key));
    jobs_.erase(std::string(key));
  }
  void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) override {
    if (object.has_priority_class()) return;  // The server always has two priority classes.
    const std::string& name = object.has_queue() ? object.queue().meta().name() : object.generic().meta().name();
    heard_.push_back(fmt::format("{} {}{}", watch, name, gone ? " is not there" : ""));
  }
  void Decide(std::string_view key, kv::WriteBatch& batch) override {
    const auto job = jobs_.find(std::string(key));
    if (job == jobs_.end()) return batch.Delete(kv::Family::kRecords, RecordOf(SlotOf(key), key));
    if (!std::exchange(job->second.recorded, true)) {
      batch.Put(kv::Family::kRecords, RecordOf(SlotOf(key), key), job->second.uid);
    }
  }
  void Act(std::string_view key) override {
    const auto found = jobs_.find(std::string(key));
    if (found == jobs_.end()) return;
    Job& job = found->second;
    if (job.made || job.under_way || context_.ApiNow() < job.not_before) return;
    job.under_way = true;
    context_.Write(key, RequestOf(key, job.uid),
                   [this, key = std::string(key)](runtime::WriteOutcome outcome) { OnWritten(key, outcome); });
  }

 private:
  struct Job {
    std::string uid;
    bool recorded = false;
    bool under_way = false;
    bool made = false;
    absl::Time not_before = absl::InfinitePast();
  };

  static gateway::v1::WriteRequest RequestOf(std::string_view key, const std::string& uid) {
    const auto [ns, name] = kube::SplitKey(key);
    auto request = kube::WriteOf(kube::kConfigMaps, ns, name);
    request.mutable_create()->set_body(fmt::format(
        R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}","ownerReferences":[{{"apiVersion":"{}",)"
        R"("kind":"Job","name":"{}","uid":"{}","controller":true}}]}}}})",
        name, kube::kJobApiVersion, name, uid));
    return request;
  }
  void OnWritten(const std::string& key, const runtime::WriteOutcome& outcome) {
    Job& job = jobs_.at(key);
    job.under_way = false;
    job.made = outcome.kind == runtime::WriteOutcome::Kind::kDone || runtime::IsNameTaken(outcome);
    heard_.push_back(job.made ? "made" : outcome.error.code() != 0 ? outcome.error.message() : "unknown");
    job.not_before = context_.ApiNow() + absl::Seconds(1);
    context_.WakeAt(key, job.not_before);
  }

  runtime::Context& context_;
  Heard& heard_;
  std::map<std::string, Job> jobs_;
};

class ControllerRigTest : public ::testing::Test {
 protected:
  struct Rig {
    ControllerRig rig{{.service = gateway::v1::SERVICE_KIND_JOB, .controller = [this](runtime::Context& of) {
                         context = &of;
                         return std::make_unique<Keeper>(of, heard);
                       }}};
    runtime::Context* context = nullptr;
    Heard heard;

    void MakeJob() {
      rig.server().Create(kube::kJobs, json::object{{"metadata", json::object{{"namespace", "default"}, {"name", "j"}}},
                                                    {"spec", json::object()}});
    }
    bool IsMade() { return rig.server().server().Get("configmaps", "default", "j") != nullptr; }
    Heard Take(absl::Duration time = absl::Milliseconds(500)) {
      rig.Run(time);
      return std::exchange(heard, {});
    }
  };

  ControllerRig& rig() { return one_.rig; }
  void StartWithJob() {
    rig().Start();
    one_.MakeJob();
  }
  Rig one_;
};

TEST_F(ControllerRigTest, ObjectsAndChangesArriveAndWritesAreStored) {
  StartWithJob();
  EXPECT_THAT(one_.Take(), ElementsAre("state default/j", "made"));
  EXPECT_TRUE(one_.IsMade());
  EXPECT_EQ(rig().server().Count("create", "configmaps", "j"), 1);
  rig().server().Delete(kube::kJobs, "default", "j");
  EXPECT_THAT(one_.Take(), ElementsAre("gone default/j"));
  EXPECT_FALSE(one_.IsMade()) << "the garbage collector takes what it owned";
}

TEST_F(ControllerRigTest, WhereverTheProcessIsKilledTheNextOneGoesOn) {
  for (const bool loses_disk : {false, true}) {
    int points = 0;
    for (int point = 1;; ++point) {
      SCOPED_TRACE(fmt::format("point {}{}", point, loses_disk ? ", disk lost" : ""));
      Rig one;
      one.rig.Start();
      one.rig.KillAt(point);
      one.MakeJob();
      one.rig.Run();
      points = one.rig.points();
      if (one.rig.alive()) break;
      if (loses_disk) one.rig.LoseDisk();
      one.rig.Start();
      EXPECT_EQ(one.Take(absl::Seconds(3)).back(), "made");
      EXPECT_TRUE(one.IsMade());
    }
    EXPECT_EQ(points, 4) << "before and after the record, before and after the request";
  }
}

TEST_F(ControllerRigTest, AnObjectThatWentWhileNobodyRanIsAbsent) {
  StartWithJob();
  one_.Take();
  rig().Kill();
  rig().server().Delete(kube::kJobs, "default", "j");
  const auto disk = rig().CopyDisk();
  rig().Start();
  EXPECT_THAT(one_.Take(), ElementsAre("absent default/j"));
  rig().Start();
  EXPECT_THAT(one_.Take(), IsEmpty()) << "it is forgotten";
  rig().Kill();
  rig().LosePower(disk);
  rig().Start();
  EXPECT_THAT(one_.Take(), ElementsAre("absent default/j"));
  rig().Kill();
  rig().LoseDisk();
  rig().Start();
  EXPECT_THAT(one_.Take(), IsEmpty());
}

TEST_F(ControllerRigTest, AWriteMeetsTheFateOfTheScript) {
  struct Case {
    Fate fate;
    bool arrives;
  };
  for (const auto& [fate, arrives] :
       {Case{Fate::kNotSent, false}, Case{Fate::kLostRequest, false}, Case{Fate::kLostAnswer, true}}) {
    Rig one;
    one.rig.fate = [fate = fate](const gateway::v1::WriteRequest&) { return fate; };
    one.rig.Start();
    one.MakeJob();
    EXPECT_THAT(one.Take(), ElementsAre("state default/j", "unknown"));
    EXPECT_EQ(one.IsMade(), arrives);
    one.rig.fate = nullptr;
    EXPECT_THAT(one.Take(absl::Seconds(2)), ElementsAre("made"));
  }
}

TEST_F(ControllerRigTest, AWriteIsRefusedOrAnsweredLateByTheScript) {
  rig().server().refuse = [](const gateway::v1::WriteRequest&, gateway::v1::KubeError& error) {
    error.set_code(403);
    error.set_message("no room");
    return true;
  };
  StartWithJob();
  EXPECT_THAT(one_.Take(), ElementsAre("state default/j", "no room"));
  EXPECT_FALSE(one_.IsMade());
  rig().server().refuse = nullptr;
  rig().answers_late = [](const gateway::v1::WriteRequest&) { return absl::Seconds(10); };
  EXPECT_THAT(one_.Take(absl::Seconds(5)), IsEmpty());
  EXPECT_TRUE(one_.IsMade());
  EXPECT_THAT(one_.Take(absl::Seconds(10)), ElementsAre("made"));
}

TEST_F(ControllerRigTest, WhileItsSlotIsClosedNothingIsHeard) {
  rig().answers_late = [](const gateway::v1::WriteRequest&) { return absl::Seconds(1); };
  StartWithJob();
  EXPECT_THAT(one_.Take(), ElementsAre("state default/j"));
  const uint32_t slot = SlotOf(kKey);
  const int64_t epoch = one_.context->SlotEpoch(slot);
  rig().CloseSlot(slot);
  EXPECT_EQ(one_.context->SlotEpoch(slot), 0);
  EXPECT_FALSE(one_.context->IsReady(slot));
  EXPECT_EQ(one_.context->Slots().owned, kSlotCount - 1);
  rig().server().Merge(kube::kJobs, "default", "j", json::object{{"spec", json::object{{"queue", "q"}}}});
  EXPECT_THAT(one_.Take(absl::Seconds(5)), IsEmpty()) << "nor what became of the write";
  rig().OpenSlot(slot);
  EXPECT_GT(one_.context->SlotEpoch(slot), epoch);
  EXPECT_THAT(one_.Take(absl::Seconds(5)), ElementsAre("state default/j", "made"));
}

TEST_F(ControllerRigTest, AnObjectWithoutAKeyReachesAllOrWhoAsksForIt) {
  rig().Start();
  rig().server().Create(kube::kQueues, json::object{{"metadata", json::object{{"name", "q"}}}});
  EXPECT_THAT(one_.Take(), ElementsAre("queues.scheduling.volcano.sh q"));
  one_.context->AddInterest("configmaps", "default", "hosts");
  EXPECT_THAT(one_.Take(), ElementsAre("configmaps hosts is not there"));
  EXPECT_EQ(rig().Interests(), std::set<std::string>{"configmaps default/hosts"});
  const json::object hosts{{"metadata", json::object{{"namespace", "default"}, {"name", "hosts"}}}};
  rig().server().Create(kube::kConfigMaps, hosts);
  EXPECT_THAT(one_.Take(), ElementsAre("configmaps hosts"));
  one_.context->DropInterest("configmaps", "default", "hosts");
  rig().server().Delete(kube::kConfigMaps, "default", "hosts");
  EXPECT_THAT(one_.Take(), IsEmpty());
}

TEST_F(ControllerRigTest, TimersFollowTheClockOfTheServer) {
  rig().server().refuse = [](const gateway::v1::WriteRequest&, gateway::v1::KubeError& error) {
    error.set_code(403);
    error.set_message("no");
    return true;
  };
  StartWithJob();
  EXPECT_THAT(one_.Take(), ElementsAre("state default/j", "no"));
  rig().SetApiClock(absl::Hours(1));
  EXPECT_THAT(one_.Take(absl::Milliseconds(10)), ElementsAre("no"));
}

}  // namespace
}  // namespace basalt::testing
