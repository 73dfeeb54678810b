// Compares PodSet with a model that has an entry for every index, over random histories.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "services/jobsvc/core/pods/places/pod_slots.h"
#include "services/jobsvc/core/pods/pod_set.h"
#include "services/jobsvc/core/pods/testing.h"

namespace basalt::jobsvc {
namespace {

using testing::MakePod;
using testing::PlacesOf;
using testing::ReportedStatus;

// The model of PodSet: it has an entry for every index, and walks over all of them for every answer.
class DensePods {
 public:
  // PodSet alone decides what becomes of each pod under one change. The model only stores the result.
  void Follow(const PodChange& change) {
    if (change.place.indexed()) {
      At(change.place) = change.after;
    } else if (change.after.present()) {
      others_[change.name] = change.after;
    } else {
      others_.erase(change.name);
    }
  }
  void AddFlag(const std::string& name, PodIndex place, PodFlag flag) {
    const auto other = others_.find(name);
    PodEntry* const entry = place.indexed() ? &At(place) : other == others_.end() ? nullptr : &other->second;
    if (entry != nullptr && entry->present()) entry->flags |= flag;
  }
  void SetSucceededGone(PodIndex place, bool value, int32_t version) {
    if (place.index >= tasks_[place.task].replicas) return;
    PodEntry& entry = At(place);
    if (entry.present() || entry.succeeded_gone == value) return;
    entry = PodEntry();
    if (!value) return;
    entry.succeeded_gone = true;
    entry.version = version;
    entry.phase = kube::v1::POD_PHASE_SUCCEEDED;
  }
  // Call after `pods` has got the new tasks.
  void SetTasks(const PodSet& pods) {
    std::map<std::string, PodEntry> all = std::exchange(others_, {});
    Walk([&](const std::string& name, PodIndex, const PodEntry& entry) {
      if (!entry.empty()) all[name] = entry;
    });
    tasks_ = pods.shape().tasks();
    slots_.clear();
    for (const TaskShape& task : tasks_) slots_.emplace_back(static_cast<size_t>(task.replicas));
    for (const auto& [name, entry] : all) {
      const PodIndex place = pods.shape().PlaceOf(name);
      if (place.indexed()) {
        At(place) = entry;
      } else if (entry.present()) {
        others_[name] = entry;
      }
    }
  }

  void ExpectSame(const PodSet& pods) const {
    const PodRules& rules = pods.rules();
    kube::v1::PodCounts counts;
    std::vector<TaskCounts> task_counts(tasks_.size());
    std::vector<std::string> present;
    std::vector<PodIndex> missing;
    std::vector<std::set<int32_t>> done(tasks_.size());
    std::set<std::string> to_mark;
    std::set<std::string> to_delete;
    std::set<std::string> held;
    std::set<PodIndex> groups;
    size_t room = 0;
    const auto look = [&](const std::string& name, PodIndex place, const PodEntry& entry) {
      CountPod(place, entry, rules, 1, counts, task_counts);
      if (MustMark(place, entry, rules)) {
        to_mark.insert(name);
      } else if (MustDelete(entry, rules)) {
        to_delete.insert(name);
      }
      if (entry.present()) present.push_back(name + " " + entry.uid);
      if (!place.indexed()) return;
      if (entry.has(kPodForeign)) held.insert(name);
      if (!entry.present() && IsDone(entry, rules)) done[place.task].insert(place.index);
      if (!entry.present() && !IsDone(entry, rules)) missing.push_back(place);
      const int32_t first = place.index - place.index % PodSlots::kNeighbours;
      if (entry.empty() || !groups.insert({place.task, first}).second) return;
      room += static_cast<size_t>(std::min(PodSlots::kNeighbours, tasks_[place.task].replicas - first));
    };
    Walk(look);
    for (const auto& [name, entry] : others_) look(name, {pods.shape().PlaceOf(name).task, -1}, entry);
    ASSERT_EQ(pods.counts().SerializeAsString(), counts.SerializeAsString());
    ASSERT_EQ(pods.task_counts(), task_counts);
    ASSERT_EQ(PlacesOf(pods.missing()), missing);
    ASSERT_EQ(pods.done().by_task(), done);
    ASSERT_EQ(pods.removals().to_mark(), to_mark);
    ASSERT_EQ(pods.removals().to_delete(), to_delete);
    ASSERT_EQ(pods.held(), held);
    ASSERT_EQ(pods.known(), present.size());
    ASSERT_EQ(pods.room(), room);
    std::vector<std::string> visited;
    pods.ForEach(
        [&](const std::string& name, PodIndex, const PodEntry& entry) { visited.push_back(name + " " + entry.uid); });
    ASSERT_EQ(visited, present);
  }

 private:
  PodEntry& At(PodIndex place) { return slots_[place.task][place.index]; }
  template <typename Look>  // Calls look(name, place, entry) at each index, in order.
  void Walk(Look look) const {
    for (size_t task = 0; task < slots_.size(); ++task) {
      for (size_t index = 0; index < slots_[task].size(); ++index) {
        const PodIndex place{static_cast<int32_t>(task), static_cast<int32_t>(index)};
        look(fmt::format("j-{}-{}", tasks_[task].name, index), place, slots_[task][index]);
      }
    }
  }

  std::vector<TaskShape> tasks_;
  std::vector<std::vector<PodEntry>> slots_;
  std::map<std::string, PodEntry> others_;
};

void ExpectSameAsRecount(const PodSet& pods) {
  const auto [counts, tasks] = pods.Recount();
  ASSERT_EQ(counts.SerializeAsString(), pods.counts().SerializeAsString());
  ASSERT_EQ(tasks, pods.task_counts());
  // The sets are compared with those of a fresh PodSet that never knew another shape or other rules.
  PodSet fresh;
  fresh.Reset("j", testing::kJobUid);
  pods.ForEach([&](const std::string& name, PodIndex, const PodEntry& entry) {
    storage::v1::PodRecord record;
    record.set_uid(entry.uid);
    record.set_phase(entry.phase);
    record.set_flags(entry.flags);
    record.set_version(entry.version);
    record.set_restarts(entry.restarts);
    fresh.Restore(name, record);
  });
  fresh.SetTasks(pods.shape().tasks());
  fresh.SetRules(pods.rules());
  for (size_t task = 0; task < pods.done().by_task().size(); ++task) {
    for (int32_t index : pods.done().by_task()[task]) fresh.SetSucceededGone({static_cast<int32_t>(task), index}, true);
  }
  ASSERT_EQ(fresh.facts().startable(), pods.facts().startable());
  for (size_t task = 0; task < pods.shape().tasks().size(); ++task) {
    const TaskShape& shape = pods.shape().tasks()[task];
    ASSERT_EQ(pods.facts().IsReady(static_cast<int32_t>(task)), tasks[task].ready >= shape.needed);
  }
  ASSERT_EQ(fresh.missing(), pods.missing());
  ASSERT_EQ(fresh.removals().to_mark(), pods.removals().to_mark());
  ASSERT_EQ(fresh.removals().to_delete(), pods.removals().to_delete());
  ASSERT_EQ(fresh.held(), pods.held());
  ASSERT_EQ(fresh.known(), pods.known());
}

// Expects MatchesReported() exactly if a new status would be the same, word for word.
void ExpectReportedAsWritten(const ReportedStatus& reported, PodSet& pods) {
  if (!pods.has_reported()) pods.SetReported(reported.counts, reported.done);
  PodSet copy = pods;
  ReportedStatus again;
  again.Write(copy);
  again.counts.clear_counts();
  kube::v1::JobStatus before = reported.counts;
  before.clear_counts();
  ASSERT_EQ(pods.MatchesReported(),
            again.counts.SerializeAsString() == before.SerializeAsString() && again.done == reported.done);
}

// Makes one change of a pod, a rule or the shape at a time. Pods have this many indices.
class RandomChanges {
 public:
  RandomChanges(uint64_t seed, uint64_t indices) : random_(seed), indices_(indices) {
    pods_.Reset("j", testing::kJobUid);
    SetTasks();
  }

  void Next() {
    const std::string name =
        random_.OneIn(16) ? "j-odd" : fmt::format("j-{}-{}", random_.OneIn(3) ? "a-1" : "a", random_.Uniform(indices_));
    switch (random_.Uniform(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Remove(name);
      case 4:
        return SetRules();
      case 5:
        return SetTasks();
      case 6:
        return SetSucceededGone();
      case 7:
        pods_.AddFlag(name, kPodAnswered);
        return dense_.AddFlag(name, pods_.shape().PlaceOf(name), kPodAnswered);
      default:
        return Apply(name);
    }
  }
  void ExpectSame() {
    dense_.ExpectSame(pods_);
    ExpectSameAsRecount(pods_);
    ExpectReportedAsWritten(reported_, pods_);
    if (random_.OneIn(4)) reported_.Write(pods_);
  }

 private:
  void Apply(const std::string& name) {
    if (!uids_.contains(name)) uids_[name] = fmt::format("u{}", ++last_uid_);
    kube::v1::Pod pod = MakePod(name, uids_[name], static_cast<kube::v1::PodPhase>(random_.Uniform(6)),
                                static_cast<int32_t>(random_.Uniform(static_cast<uint64_t>(rules_.version) + 1)));
    if (random_.OneIn(8)) pod.set_owner_uid("somebody");
    if (random_.OneIn(6)) pod.set_deletion_ms(1);
    if (random_.OneIn(6)) pod.set_out_of_sync(true);
    pod.set_all_ready(random_.OneIn(2));
    pod.set_restarts(static_cast<int32_t>(random_.Uniform(4)));
    dense_.Follow(pods_.Apply(pod));
  }
  // Removes the first pod from that name on.
  void Remove(const std::string& name) {
    const auto pod = uids_.lower_bound(name);
    if (pod == uids_.end()) return;
    const PodChange change = pods_.Remove(pod->first, pod->second);
    if (change.before.present()) dense_.Follow(change);
    uids_.erase(pod);
  }
  void SetRules() {
    rules_.version += static_cast<int32_t>(random_.Uniform(2));
    if (random_.OneIn(3)) rules_.delete_terminal_below = rules_.version;
    rules_.kill_all = random_.OneIn(5);
    rules_.targets.clear();
    if (random_.OneIn(3) && !uids_.empty()) rules_.targets.insert(uids_.begin()->second);
    pods_.SetRules(rules_);
  }
  void SetTasks() {
    const int32_t sizes[] = {0, 1, 63, 64, 65, 200};
    const auto size = [&] {
      return indices_ < 10 ? static_cast<int32_t>(random_.Uniform(indices_)) : sizes[random_.Uniform(std::size(sizes))];
    };
    const int32_t a = size();
    pods_.SetTasks({{"a", a, 2, 1},
                    {"a-1", size(), 0, 2, {0}},
                    {"b", 1, 0, 0, {0, 1}, random_.OneIn(2)},
                    {"c", 1, 0, 0, {-1, 0}}});
    dense_.SetTasks(pods_);
  }
  void SetSucceededGone() {
    const PodIndex place{static_cast<int32_t>(random_.Uniform(2)), static_cast<int32_t>(random_.Uniform(indices_))};
    const bool value = random_.OneIn(2);
    pods_.SetSucceededGone(place, value);
    dense_.SetSucceededGone(place, value, rules_.version);
  }

  SeededRandom random_;
  const uint64_t indices_;
  PodSet pods_;
  ReportedStatus reported_;
  DensePods dense_;
  PodRules rules_;
  std::map<std::string, std::string> uids_;
  int last_uid_ = 0;
};

TEST(PodSetRandomTest, EqualsARecountAndAnEntryForEveryIndex) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomChanges changes(seed, /*indices=*/seed <= 40 ? 5 : 210);
    for (int step = 0; step < 300; ++step) {
      changes.Next();
      changes.ExpectSame();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace basalt::jobsvc
