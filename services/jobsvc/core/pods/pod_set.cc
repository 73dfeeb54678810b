#include "services/jobsvc/core/pods/pod_set.h"

#include <algorithm>
#include <utility>

namespace basalt::jobsvc {

namespace {

// These flags do not follow from the pod's state and hold for as long as the pod lives.
constexpr uint16_t kKeptFlags = kPodEvictionSeen | kPodFailedSurplus | kPodAnswered;

uint16_t FlagsOf(const kube::v1::Pod& pod) {
  uint16_t flags = 0;
  if (pod.deletion_ms() != 0) flags |= kPodTerminating;
  if (pod.out_of_sync()) flags |= kPodOutOfSync;
  if (pod.all_ready()) flags |= kPodReady;
  return flags;
}

}  // namespace

void PodSet::Reset(std::string_view job_name, std::string_view job_uid) {
  DoneIndices done = std::move(done_);
  done.Clear();
  *this = PodSet();
  done_ = std::move(done);
  shape_ = JobShape(job_name);
  job_uid_ = job_uid;
}

const PodEntry* PodSet::Find(std::string_view name) const {
  const PodEntry* entry = entries_.Find(name, shape_.PlaceOf(name));
  return entry != nullptr && entry->present() ? entry : nullptr;
}

const PodEntry* PodSet::HolderOf(std::string_view name) const {
  const PodIndex place = shape_.PlaceOf(name);
  const PodEntry* entry = entries_.Find(name, place);
  if (entry == nullptr) return nullptr;
  return entry->present() || (place.indexed() && IsDone(*entry, rules_)) ? entry : nullptr;
}

void PodSet::Contribute(std::string_view name, PodIndex place, const PodEntry& entry, bool add) {
  const int32_t sign = add ? 1 : -1;
  CountPod(place, entry, rules_, sign, counts_, task_counts_);
  int32_t more_missing = 0;
  if (entry.present()) present_ += add ? 1 : -1;
  if (place.indexed()) {
    const bool done = !entry.present() && IsDone(entry, rules_);
    if (!entry.present() && !done) {
      more_missing = sign;
      if (add) {
        missing_.Insert(place);
      } else {
        missing_.Erase(place);
      }
    }
    if (done) done_.Set(place, add);
    if (entry.has(kPodForeign)) {
      if (add) {
        held_.emplace(name);
      } else {
        held_.erase(std::string(name));
      }
    }
  }
  if (place.task >= 0) facts_.Follow(place.task, task_counts_[place.task], more_missing);
  removals_.Contribute(name, place, entry, rules_, add);
}

void PodSet::Rebuild() {
  counts_.Clear();
  task_counts_.assign(shape_.tasks().size(), {});
  done_.Reset(shape_.tasks().size());
  facts_.ForgetPods();
  missing_.Clear();
  removals_.Clear();
  held_.clear();
  present_ = 0;
  for (size_t t = 0; t < entries_.slots().size(); ++t) RebuildTask(static_cast<int32_t>(t));
  for (const auto& [name, other] : entries_.others()) Contribute(name, {other.task, -1}, other.entry, true);
}

// The places between the known ones are missing.
void PodSet::RebuildTask(int32_t task) {
  int32_t from = 0;
  int32_t missing = 0;
  const auto miss_until = [&](int32_t to) {
    missing_.AddRange(task, from, to);
    missing += to - from;
    from = to + 1;
  };
  entries_.slots()[task].ForEach([&](int32_t index, const PodEntry& entry) {
    if (!entry.present() && !IsDone(entry, rules_)) return;
    miss_until(index);
    const PodIndex place{task, index};
    Contribute(entry.present() ? shape_.NameOf(place) : std::string(), place, entry, true);
  });
  miss_until(shape_.tasks()[task].replicas);
  facts_.Follow(task, task_counts_[task], missing);
}

std::vector<std::string> PodSet::SetTasks(std::vector<TaskShape> tasks) {
  std::map<std::string, std::pair<PodIndex, PodEntry>> all;
  std::map<std::pair<std::string, int32_t>, PodEntry> done;
  const std::vector<PodSlots>& slots = entries_.slots();
  for (size_t t = 0; t < slots.size(); ++t) {
    slots[t].ForEach([&](int32_t index, const PodEntry& entry) {
      const PodIndex place{static_cast<int32_t>(t), index};
      if (entry.present()) {
        all[shape_.NameOf(place)] = {place, entry};
      } else {
        done[{shape_.tasks()[t].name, index}] = entry;
      }
    });
  }
  for (const auto& [name, other] : entries_.others()) all[name] = {{other.task, -1}, other.entry};
  shape_.SetTasks(std::move(tasks));
  entries_.Reset(shape_.tasks());
  std::vector<std::string> moved;
  for (auto& [name, was] : all) {
    const PodIndex place = shape_.PlaceOf(name);
    if (place != was.first) moved.push_back(name);
    entries_.Make(name, place) = std::move(was.second);
  }
  for (auto& [key, entry] : done) {
    const int32_t task = shape_.TaskOf(key.first);
    if (task < 0 || key.second >= shape_.tasks()[task].replicas) continue;
    PodEntry& slot = entries_.Make({}, {task, key.second});
    if (!slot.present()) slot = entry;
  }
  facts_.Reset(shape_.tasks());
  has_reported_ = false;
  Rebuild();
  return moved;
}

void PodSet::SetRules(PodRules rules) {
  if (rules == rules_) return;
  rules_ = std::move(rules);
  Rebuild();
}

void PodSet::SetReported(const kube::v1::JobStatus& status, const std::map<std::string, std::set<int32_t>>& done) {
  has_reported_ = true;
  facts_.ForgetReported(task_counts_);
  for (const auto& reported : status.task_status_count()) {
    const int32_t task = shape_.TaskOf(reported.task());
    facts_.SetReported(task, reported.counts(), task >= 0 ? task_counts_[task] : TaskCounts());
  }
  std::set<PodIndex> reported_done;
  for (const auto& [name, indices] : done) {
    const int32_t task = shape_.TaskOf(name);
    // An index of an unknown task, and a task without any indices, are reported and are not done.
    if (indices.empty()) reported_done.insert({task, -1});
    for (const int32_t index : indices) reported_done.insert({task, index});
  }
  done_.SetReported(std::move(reported_done));
}

void PodSet::Restore(std::string_view name, const storage::v1::PodRecord& record) {
  PodEntry& entry = entries_.Make(name, {});
  entry.uid = record.uid();
  entry.resource_version = record.resource_version();
  entry.seen_ms = record.observed_ms();
  entry.version = record.version();
  entry.restarts = record.restarts();
  entry.exit_code = record.exit_code();
  entry.phase = static_cast<uint8_t>(record.phase());
  entry.flags = static_cast<uint16_t>(record.flags());
  ++present_;
}

void PodSet::PutBack(std::string_view name, const PodEntry& entry) {
  const PodIndex place = shape_.PlaceOf(name);
  PodEntry& slot = entries_.Make(name, place);
  if (place.indexed()) Contribute(name, place, slot, false);
  slot = entry;
  Contribute(name, place, entry, true);
}

PodChange PodSet::Apply(const kube::v1::Pod& pod) {
  PodChange change;
  change.name = pod.name();
  change.place = shape_.PlaceOf(pod.name());
  PodEntry* slot =
      change.place.indexed() ? &entries_.Make(pod.name(), change.place) : entries_.Find(pod.name(), change.place);
  const bool has_task = change.place.task >= 0;
  // The counts include the old entry: crossings of a threshold are decided on whole states.
  if (has_task) change.task_before = task_counts_[change.place.task];
  if (slot == nullptr) {
    slot = &entries_.Make(pod.name(), change.place);
  } else {
    Contribute(pod.name(), change.place, *slot, false);
  }
  change.before = *slot;
  // This holds also for a pod that is observed for the first time, as on an empty disk: the kill under way was decided
  // for that pod, or takes it.
  change.was_ours_to_delete =
      MustDelete(*slot, rules_) || MustMark(change.place, *slot, rules_) || rules_.targets.contains(pod.uid());
  const bool same = slot->uid == pod.uid();
  // Owner UID and the three annotations make a pod this job's (job spec 3.2). Any other pod only has the name.
  const bool ours = pod.owner_uid() == job_uid_ && pod.has_job_version() && !pod.task().empty();
  const bool labelled = pod.job_uid_label() == job_uid_;
  slot->flags = static_cast<uint16_t>(FlagsOf(pod) | (same ? slot->flags & kKeptFlags : 0) | (ours ? 0 : kPodForeign) |
                                      (labelled ? kPodLabelled : 0) | (pod.owner_uid().empty() ? kPodOrphan : 0));
  if (ours && has_task && !change.place.indexed() && pod.phase() == kube::v1::POD_PHASE_FAILED &&
      !(same && slot->phase == kube::v1::POD_PHASE_FAILED)) {
    slot->flags |= kPodFailedSurplus;
  }
  slot->uid = pod.uid();
  slot->resource_version = pod.resource_version();
  slot->seen_ms = 0;
  slot->version = pod.job_version();
  slot->restarts = pod.restarts();
  slot->exit_code = pod.exit_code();
  slot->phase = static_cast<uint8_t>(pod.phase());
  slot->succeeded_gone = false;
  Contribute(pod.name(), change.place, *slot, true);
  change.after = *slot;
  if (has_task) change.task_after = task_counts_[change.place.task];
  return change;
}

PodChange PodSet::Remove(std::string_view name, std::string_view uid) {
  PodChange change;
  change.name = name;
  change.place = shape_.PlaceOf(name);
  PodEntry* slot = entries_.Find(name, change.place);
  if (slot == nullptr || !slot->present() || slot->uid != uid) return change;
  if (change.place.task >= 0) change.task_before = task_counts_[change.place.task];
  change.before = *slot;
  change.was_ours_to_delete = rules_.kill_all || slot->has(kPodOutOfSync) || !change.place.indexed() ||
                              slot->version < rules_.version || rules_.targets.contains(slot->uid) ||
                              MustMark(change.place, *slot, rules_);
  Contribute(name, change.place, *slot, false);
  if (change.place.indexed()) {
    *slot = PodEntry();
    // Finished work of the current version is not repeated because somebody cleaned up (W19).
    const bool done = change.before.phase == kube::v1::POD_PHASE_SUCCEEDED && !change.before.has(kPodForeign) &&
                      change.before.version >= rules_.delete_terminal_below && !change.before.has(kPodOutOfSync) &&
                      !rules_.targets.contains(change.before.uid);
    if (done) {
      slot->succeeded_gone = true;
      slot->version = change.before.version;
      slot->phase = kube::v1::POD_PHASE_SUCCEEDED;
    }
    change.after = *slot;
    Contribute(name, change.place, *slot, true);
  }
  entries_.Release(name, change.place);
  if (change.place.task >= 0) change.task_after = task_counts_[change.place.task];
  return change;
}

void PodSet::AddFlag(std::string_view name, PodFlag flag) {
  const PodIndex place = shape_.PlaceOf(name);
  PodEntry* slot = entries_.Find(name, place);
  if (slot == nullptr || !slot->present()) return;
  Contribute(name, place, *slot, false);
  slot->flags |= flag;
  Contribute(name, place, *slot, true);
}

void PodSet::SetSucceededGone(PodIndex place, bool value) {
  const std::vector<TaskShape>& tasks = shape_.tasks();
  if (place.task < 0 || static_cast<size_t>(place.task) >= tasks.size() || !place.indexed() ||
      place.index >= tasks[place.task].replicas) {
    return;
  }
  if (!value && entries_.Find({}, place) == nullptr) return;
  PodEntry& slot = entries_.Make({}, place);
  if (slot.present() || slot.succeeded_gone == value) return;
  Contribute({}, place, slot, false);
  slot = PodEntry();
  if (value) {
    slot.succeeded_gone = true;
    slot.version = rules_.version;
    slot.phase = kube::v1::POD_PHASE_SUCCEEDED;
  }
  Contribute({}, place, slot, true);
  entries_.Release({}, place);
}

std::pair<kube::v1::PodCounts, std::vector<TaskCounts>> PodSet::CountUnder(const PodRules& rules) const {
  kube::v1::PodCounts counts;
  std::vector<TaskCounts> tasks(shape_.tasks().size());
  entries_.ForEach([&](PodIndex place, const PodEntry& entry) { CountPod(place, entry, rules, 1, counts, tasks); });
  return {counts, tasks};
}

std::vector<std::string> PodSet::OfNoTask() const {
  std::vector<std::string> names;
  for (const auto& [name, other] : entries_.others()) {
    if (other.task < 0 && !other.entry.has(kPodForeign) && !other.entry.has(kPodTerminating)) names.push_back(name);
  }
  return names;
}

std::set<std::string> PodSet::Uids(int32_t task, int32_t partition) const {
  std::set<std::string> uids;
  const auto add = [&uids](const PodEntry& entry) {
    if (entry.present() && !entry.has(kPodForeign)) uids.insert(entry.uid);
  };
  const auto first_task = static_cast<size_t>(std::max(task, 0));
  const size_t last_task = task >= 0 ? first_task + 1 : entries_.slots().size();
  for (size_t t = first_task; t < last_task; ++t) {
    const int64_t replicas = shape_.tasks()[t].replicas;
    // Without partitions all pods are in the first one.
    const int64_t size =
        task >= 0 && shape_.tasks()[t].partition_size > 0 ? shape_.tasks()[t].partition_size : replicas;
    const int64_t first = partition >= 0 ? std::min(replicas, partition * size) : 0;
    const int64_t last = partition >= 0 ? std::min(replicas, first + size) : replicas;
    entries_.slots()[t].ForEachOf(static_cast<int32_t>(first), static_cast<int32_t>(last),
                                  [&add](int32_t, const PodEntry& entry) { add(entry); });
  }
  if (partition >= 0) return uids;
  for (const auto& [name, other] : entries_.others()) {
    if (task < 0 || other.task == task) add(other.entry);
  }
  return uids;
}

std::set<std::string> PodSet::Terminating() const {
  std::set<std::string> uids;
  entries_.ForEach([&](PodIndex place, const PodEntry& entry) {
    if (entry.present() && CountsAsTerminating(place, entry, rules_)) uids.insert(entry.uid);
  });
  return uids;
}

}  // namespace basalt::jobsvc
