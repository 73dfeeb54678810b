// A record that cannot be read is dropped and counted. Its job begins as on an empty disk, and the others go on.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/runtime/slots/slot_records.h"
#include "common/runtime/watch/watch_records.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/store/job_store.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

using kv::Family;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kKey[] = "default/j";

// Returns the key of another job in the same slot.
const std::string& Neighbour() {
  static const std::string key = [] {
    int i = 0;
    while (SlotOf(fmt::format("default/n{}", i)) != SlotOf(kKey)) ++i;
    return fmt::format("default/n{}", i);
  }();
  return key;
}

class DamagedRecordsTest : public JobTest {
 protected:
  // Runs both jobs. Each has a deadline of a failed pod.
  void Begin() {
    rig().Start();
    for (const std::string& name : {std::string("j"), Neighbour().substr(8)}) {
      kube::v1::Job job = MakeJob(name, 1, 3);
      job.mutable_spec()->set_min_available(1);
      job = WithPolicy(std::move(job), "PodEvicted", "AbortJob");
      job = WithPolicy(std::move(job), "PodFailed", "AbortJob", absl::Hours(5));
      kube().PutJob(std::move(job));
    }
    rig().Run();
    kube().SetAllPods(kPodRunning);
    rig().Run(absl::Seconds(10));
    for (const std::string& key : {std::string(kKey), Neighbour()}) kube().SetPodPhase(key + "-t0-1", kPodFailed, 3);
    rig().Run(absl::Seconds(10));
    ASSERT_EQ(kube().Count("create", "pods"), 6);
  }
  void Put(Family family, const std::string& key, const std::string& value) {
    kv::WriteBatch batch;
    batch.Put(family, key, value);
    ASSERT_TRUE(rig().store().Write(batch).ok());
  }
  std::string Value(Family family, const std::string& key) { return rig().store().Get(family, key)->value_or("none"); }
  void StartAgain(const std::function<void()>& meanwhile = [] {}) {
    rig().Kill();
    meanwhile();
    rig().Start();
    rig().Run(absl::Seconds(10));
  }
  int Dropped(std::string_view kind) {
    return static_cast<int>(
        rig().prometheus->GetCounter("basalt_store_damaged_records_total", "", {{"kind", std::string(kind)}}).Value());
  }
  std::string Uid(const std::string& key = kKey) { return kube().job(key).meta().uid(); }

  const uint32_t slot_ = SlotOf(kKey);
};

TEST_F(DamagedRecordsTest, TheRestGoesOnAndItsJobBeginsAsOnAnEmptyDisk) {
  Begin();
  const std::string of_neighbour = Value(Family::kRecords, JobRecordKey(slot_, Neighbour()));
  ASSERT_NE(of_neighbour, "none");
  const std::string another = "default/another-slot";
  ASSERT_NE(SlotOf(another), slot_);
  storage::v1::PendingAction other_pod;
  other_pod.set_pod("j-t0-0");
  const struct {
    const char* what;
    Family family;
    std::string key;
    std::string value;
    const char* kind;
    bool is_of_job = true;
  } rows[] = {
      {"a job", Family::kRecords, JobRecordKey(slot_, kKey), "\xff", "job"},
      {"an empty job", Family::kRecords, JobRecordKey(slot_, kKey), "", "job"},
      {"a job of another slot", Family::kRecords, JobRecordKey(slot_, another), of_neighbour, "job", false},
      {"a job without a key", Family::kRecords, JobRecordKey(slot_, kKey).substr(0, 4), of_neighbour, "job", false},
      {"a pod", Family::kPods, PodRecordKey(slot_, kKey, "j-t0-1"), "\xff", "pod"},
      {"an empty pod", Family::kPods, PodRecordKey(slot_, kKey, "j-t0-1"), "", "pod"},
      {"a deadline", Family::kAux, DeadlineKey(slot_, kKey, "j-t0-1"), "\xff", "deadline"},
      {"a deadline of another pod", Family::kAux, DeadlineKey(slot_, kKey, "j-t0-1"), other_pod.SerializeAsString(),
       "deadline"},
      {"an ended pod", Family::kAux, EndedPodKey(slot_, kKey, "uid"), "\xff", "ended"},
      {"what was shown", Family::kAux, runtime::ShownKey(slot_, kKey), "\xff", "published", false},
      {"the watch", Family::kAux, runtime::SlotWatchKey(slot_), "\xff", "watch", false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    const int dropped = Dropped(row.kind);
    const watch::WatchPosition before = rig().controller().publisher().LogOf(slot_)->position();
    Put(row.family, row.key, row.value);
    StartAgain();
    ASSERT_TRUE(rig().alive());
    EXPECT_EQ(Dropped(row.kind), dropped + 1);
    EXPECT_FALSE(rig().controller().publisher().LogOf(slot_)->Knows(before))
        << "watching clients are told everything anew";
    EXPECT_NE(Value(row.family, row.key), row.value);
    for (const std::string& key : {std::string(kKey), Neighbour()}) {
      SCOPED_TRACE(key);
      EXPECT_EQ(rig().PhaseOf(key), kRunning);
      const JobEntry* const entry = rig().controller().Find(key);
      ASSERT_NE(entry, nullptr);
      EXPECT_EQ(entry->pods.known(), 3u);
      EXPECT_EQ(entry->deadlines.size(), 1u);
      EXPECT_GT(entry->shown.revision, 0);
    }
    // This value is known from the disk alone.
    EXPECT_EQ(Entry().record.last_status_ms() == 0, row.is_of_job);
    EXPECT_NE(rig().controller().Find(Neighbour())->record.last_status_ms(), 0) << "the neighbour keeps its own";
    EXPECT_EQ(kube().Count("create", "pods"), 6) << "nothing was made again";
    StartAgain();
    EXPECT_EQ(Dropped(row.kind), dropped + 1) << "it is dropped once";
    // Something is recorded anew for the next row.
    for (const std::string& key : {std::string(kKey), Neighbour()}) {
      const std::string job = key.substr(8);
      kube().PutCommand("default", fmt::format("sync-{}-{}", job, dropped), "SyncJob", job);
    }
    rig().Run(absl::Seconds(10));
  }
}

// The record is passed on unchanged, and checked when the slot is opened.
TEST_F(DamagedRecordsTest, OneThatComesFromAnotherReplicaIsDroppedWhereTheSlotIsOpened) {
  Begin();
  rig().controller().CloseSlot(slot_);
  replica::v1::SlotRecord record;
  record.set_family(static_cast<uint32_t>(Family::kRecords));
  record.set_key(JobRecordKey(slot_, kKey));
  record.set_value("\xff");
  kv::WriteBatch batch;
  ASSERT_TRUE(runtime::PutRecord(record, replica::v1::ExportRecordsRequest::PART_CONTROL, slot_, batch).ok());
  ASSERT_TRUE(rig().store().Write(batch).ok());
  const auto known = rig().controller().OpenSlot(slot_);
  ASSERT_TRUE(known.ok()) << known.status();
  std::set<std::string> keys;
  for (const runtime::KnownObject& object : *known) keys.insert(object.routing_key);
  EXPECT_EQ(keys, std::set<std::string>{Neighbour()});
  EXPECT_EQ(rig().controller().Find(kKey), nullptr);
  EXPECT_EQ(rig().controller().Find(Neighbour())->pods.known(), 3u);
  EXPECT_EQ(Dropped("job"), 1);
}

TEST_F(DamagedRecordsTest, RecordsOfPodsThatWentMeanwhileGoWithTheirJobs) {
  Begin();
  Put(Family::kRecords, JobRecordKey(slot_, kKey), "\xff");
  StartAgain([&] {
    kube().RemovePod("default/j-t0-2");
    Scale(2);
  });
  EXPECT_EQ(Value(Family::kPods, PodRecordKey(slot_, kKey, "j-t0-2")), "none");
  EXPECT_NE(Value(Family::kPods, PodRecordKey(slot_, kKey, "j-t0-1")), "none");
  StartAgain();
  EXPECT_EQ(Phase(), kRunning) << "the policy of evictions would have aborted it";
}

TEST_F(DamagedRecordsTest, APodThatWentMeanwhileIsMadeAgainAndRaisesNoEvent) {
  Begin();
  Put(Family::kPods, PodRecordKey(slot_, kKey, "j-t0-2"), "\xff");
  StartAgain([&] { kube().RemovePod("default/j-t0-2"); });
  EXPECT_EQ(Phase(), kRunning) << "the policy of evictions would have aborted it";
  EXPECT_EQ(Entry().pods.known(), 3u);
  EXPECT_EQ(kube().Count("create", "pods"), 7);
}

TEST_F(DamagedRecordsTest, AJobThatIsGoneMeanwhileLeavesNothingBehind) {
  Begin();
  Put(Family::kRecords, JobRecordKey(slot_, kKey), "\xff");
  StartAgain([&] {
    kube().DeleteJob(kKey);
    const auto pods = kube().pods();
    for (const auto& [name, pod] : pods) {
      if (name.starts_with("default/j-")) kube().RemovePod(name);
    }
  });
  EXPECT_EQ(rig().controller().Find(kKey), nullptr);
  int left = 0;
  for (const Family family : {Family::kRecords, Family::kPods, Family::kAux}) {
    EXPECT_TRUE(rig()
                    .store()
                    .Scan(family, "", "",
                          [&](std::string_view key, std::string_view) {
                            left += key.find(std::string(kKey) + '\0') == std::string_view::npos ? 0 : 1;
                            return true;
                          })
                    .ok());
  }
  EXPECT_EQ(left, 0);
}

// The job goes by the rest of its history. The damage is counted when this process writes its first entry.
TEST_F(DamagedRecordsTest, AJobWithADamagedHistoryGoesOn) {
  Begin();
  const auto history = HistoryStore(rig().store()).Read(slot_, Uid());
  Put(Family::kHistory, history::EntryKey(slot_, Uid(), {history->back().sequence()}), "");
  StartAgain();
  Command("stop", "AbortJob");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kAborted);
  EXPECT_EQ(Dropped("history"), 1);
}

TEST_F(DamagedRecordsTest, TheIndexOfAJobThatIsThereIsMendedAndCounted) {
  Begin();
  const std::string uid = Uid();
  const std::string prefix = JobRecordKey(slot_, kKey);
  std::string index;
  EXPECT_TRUE(rig()
                  .store()
                  .Scan(Family::kHistoryIndex, prefix, kv::PrefixEnd(prefix),
                        [&](std::string_view key, std::string_view) {
                          index = key;
                          return true;
                        })
                  .ok());
  Put(Family::kHistoryIndex, index, "\xff");
  rig().Run(absl::Hours(3));
  EXPECT_EQ(Dropped("history_index"), 1);
  storage::v1::HistoryIndexRecord record;
  ASSERT_TRUE(record.ParseFromString(Value(Family::kHistoryIndex, index)));
  EXPECT_EQ(record.uid(), uid);
}

TEST_F(DamagedRecordsTest, AReaderThatGathersNoDamageGetsAnError) {
  Begin();
  Put(Family::kPods, PodRecordKey(slot_, kKey, "j-t0-1"), "\xff");
  const absl::Status status =
      ForEachPod(rig().store(), slot_, kKey, [](std::string_view, const storage::v1::PodRecord&) {});
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("pod record of default/j j-t0-1"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\xff")));
}

}  // namespace
}  // namespace basalt::jobsvc::testing
