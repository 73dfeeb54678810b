#include "services/jobsvc/core/pods/pod_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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

std::optional<ParsedPodName> ParsePodName(std::string_view name, std::string_view job) {
  if (name.size() <= job.size() + 1 || !name.starts_with(job) || name[job.size()] != '-') return std::nullopt;
  const std::string_view rest = name.substr(job.size() + 1);
  const size_t dash = rest.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view digits = rest.substr(dash + 1);
  int32_t index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool canonical = error == std::errc() && end == digits.data() + digits.size() && index >= 0 &&
                         (digits.size() == 1 || digits[0] != '0');
  return ParsedPodName{rest.substr(0, dash), canonical ? index : -1};
}

void PodSet::Reset(std::string_view job_name, std::string_view job_uid) {
  const uint64_t done_changes = done_changes_ + 1;
  *this = PodSet();
  done_changes_ = done_changes;
  job_name_ = job_name;
  job_uid_ = job_uid;
}

size_t PodSet::known() const { return present_; }

size_t PodSet::room() const {
  size_t room = 0;
  for (const PodSlots& slots : slots_) room += slots.room();
  return room;
}

int32_t PodSet::TaskOf(std::string_view name) const {
  const auto task = task_of_.find(name);
  return task == task_of_.end() ? -1 : task->second;
}

PodIndex PodSet::PlaceOf(std::string_view name) const {
  const std::optional<ParsedPodName> parsed = ParsePodName(name, job_name_);
  const auto task = parsed ? task_of_.find(parsed->task) : task_of_.end();
  if (task == task_of_.end()) return {};
  return {task->second, parsed->index < tasks_[task->second].replicas ? parsed->index : -1};
}

std::string PodSet::NameOf(PodIndex place) const {
  return fmt::format("{}-{}-{}", job_name_, tasks_[place.task].name, place.index);
}

PodEntry* PodSet::Slot(std::string_view name, PodIndex place) {
  if (place.indexed()) return slots_[place.task].Find(place.index);
  const auto it = others_.find(name);
  return it == others_.end() ? nullptr : &it->second.entry;
}

const PodEntry* PodSet::Find(std::string_view name) const {
  const PodEntry* entry = const_cast<PodSet*>(this)->Slot(name, PlaceOf(name));
  return entry != nullptr && entry->present() ? entry : nullptr;
}

const PodEntry* PodSet::HolderOf(std::string_view name) const {
  const PodIndex place = PlaceOf(name);
  const PodEntry* entry = const_cast<PodSet*>(this)->Slot(name, place);
  if (entry == nullptr) return nullptr;
  return entry->present() || (place.indexed() && IsDone(*entry, rules_)) ? entry : nullptr;
}

void PodSet::Contribute(std::string_view name, PodIndex place, const PodEntry& entry, bool add) {
  const int32_t sign = add ? 1 : -1;
  CountPod(place, entry, rules_, sign, counts_, task_counts_);
  int32_t more_missing = 0;
  if (entry.present()) present_ += add ? 1 : -1;
  const auto flip = [&](std::set<std::string>& set) {
    if (add) {
      set.emplace(name);
    } else {
      set.erase(std::string(name));
    }
  };
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
    if (done) {
      ++done_changes_;
      unreported_done_ += reported_done_.contains(place) ? -sign : sign;
      if (add) {
        done_[place.task].insert(place.index);
      } else {
        done_[place.task].erase(place.index);
      }
    }
    if (entry.has(kPodForeign)) flip(held_);
  }
  if (place.task >= 0) facts_.Follow(place.task, task_counts_[place.task], more_missing);
  if (MustMark(place, entry, rules_)) {
    flip(to_mark_);
  } else if (MustDelete(entry, rules_)) {
    flip(to_delete_);
  }
  // A kill does not wait for a pod that does not belong to the job any more.
  const bool is_target =
      !rules_.targets.empty() && entry.present() && rules_.targets.contains(entry.uid) && !entry.has(kPodForeign);
  if (is_target) targets_left_ += sign;
  if (entry.has(kPodForeign) && entry.has(kPodLabelled)) foreign_labelled_ += sign;
}

void PodSet::Rebuild() {
  counts_.Clear();
  task_counts_.assign(tasks_.size(), {});
  done_.assign(tasks_.size(), {});
  ++done_changes_;
  unreported_done_ = static_cast<int64_t>(reported_done_.size());
  facts_.ForgetPods();
  missing_.Clear();
  to_mark_.clear();
  to_delete_.clear();
  held_.clear();
  targets_left_ = 0;
  foreign_labelled_ = 0;
  present_ = 0;
  for (size_t t = 0; t < slots_.size(); ++t) RebuildTask(static_cast<int32_t>(t));
  for (const auto& [name, other] : others_) Contribute(name, {other.task, -1}, other.entry, true);
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
  slots_[task].ForEach([&](int32_t index, const PodEntry& entry) {
    if (!entry.present() && !IsDone(entry, rules_)) return;
    miss_until(index);
    const PodIndex place{task, index};
    Contribute(entry.present() ? NameOf(place) : std::string(), place, entry, true);
  });
  miss_until(tasks_[task].replicas);
  facts_.Follow(task, task_counts_[task], missing);
}

std::vector<std::string> PodSet::SetTasks(std::vector<TaskShape> tasks) {
  std::map<std::string, std::pair<PodIndex, PodEntry>> all;
  std::map<std::pair<std::string, int32_t>, PodEntry> done;
  for (size_t t = 0; t < slots_.size(); ++t) {
    slots_[t].ForEach([&](int32_t index, const PodEntry& entry) {
      const PodIndex place{static_cast<int32_t>(t), index};
      if (entry.present()) {
        all[NameOf(place)] = {place, entry};
      } else {
        done[{tasks_[t].name, index}] = entry;
      }
    });
  }
  for (auto& [name, other] : others_) all[name] = {{other.task, -1}, other.entry};
  others_.clear();
  slots_.clear();
  task_of_.clear();
  tasks_ = std::move(tasks);
  total_ = 0;
  for (size_t t = 0; t < tasks_.size(); ++t) {
    if (tasks_[t].replicas < 0) tasks_[t].replicas = 0;
    total_ += tasks_[t].replicas;
    task_of_.emplace(tasks_[t].name, static_cast<int32_t>(t));
    slots_.emplace_back(tasks_[t].replicas);
  }
  std::vector<std::string> moved;
  for (auto& [name, was] : all) {
    const PodIndex place = PlaceOf(name);
    if (place != was.first) moved.push_back(name);
    if (place.indexed()) {
      slots_[place.task].Make(place.index) = std::move(was.second);
    } else {
      others_[name] = {place.task, std::move(was.second)};
    }
  }
  for (auto& [key, entry] : done) {
    const auto task = task_of_.find(key.first);
    if (task == task_of_.end() || key.second >= tasks_[task->second].replicas) continue;
    PodEntry& slot = slots_[task->second].Make(key.second);
    if (!slot.present()) slot = entry;
  }
  facts_.Reset(tasks_);
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
    const int32_t task = TaskOf(reported.task());
    facts_.SetReported(task, reported.counts(), task >= 0 ? task_counts_[task] : TaskCounts());
  }
  reported_done_.clear();
  for (const auto& [name, indices] : done) {
    const int32_t task = TaskOf(name);
    // An index of an unknown task, and a task without any indices, are reported and are not done.
    if (indices.empty()) reported_done_.insert({task, -1});
    for (const int32_t index : indices) reported_done_.insert({task, index});
  }
  unreported_done_ = static_cast<int64_t>(reported_done_.size());
  for (size_t task = 0; task < done_.size(); ++task) {
    for (const int32_t index : done_[task]) {
      unreported_done_ += reported_done_.contains({static_cast<int32_t>(task), index}) ? -1 : 1;
    }
  }
}

void PodSet::Restore(std::string_view name, const storage::v1::PodRecord& record) {
  Other& other = others_[std::string(name)];
  other.task = -1;
  PodEntry& entry = other.entry;
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
  const PodIndex place = PlaceOf(name);
  if (!place.indexed()) {
    others_[std::string(name)] = {.task = place.task, .entry = entry};
  } else {
    PodEntry& slot = slots_[place.task].Make(place.index);
    Contribute(name, place, slot, false);
    slot = entry;
  }
  Contribute(name, place, entry, true);
}

PodChange PodSet::Apply(const kube::v1::Pod& pod) {
  PodChange change;
  change.name = pod.name();
  change.place = PlaceOf(pod.name());
  PodEntry* slot =
      change.place.indexed() ? &slots_[change.place.task].Make(change.place.index) : Slot(pod.name(), change.place);
  const bool has_task = change.place.task >= 0;
  // The counts include the old entry: crossings of a threshold are decided on whole states.
  if (has_task) change.task_before = task_counts_[change.place.task];
  if (slot == nullptr) {
    Other& other = others_[pod.name()];
    other.task = change.place.task;
    slot = &other.entry;
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
  change.place = PlaceOf(name);
  PodEntry* slot = Slot(name, change.place);
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
    slots_[change.place.task].Release(change.place.index);
  } else {
    others_.erase(others_.find(name));
  }
  if (change.place.task >= 0) change.task_after = task_counts_[change.place.task];
  return change;
}

void PodSet::AddFlag(std::string_view name, PodFlag flag) {
  const PodIndex place = PlaceOf(name);
  PodEntry* slot = Slot(name, place);
  if (slot == nullptr || !slot->present()) return;
  Contribute(name, place, *slot, false);
  slot->flags |= flag;
  Contribute(name, place, *slot, true);
}

void PodSet::SetSucceededGone(PodIndex place, bool value) {
  if (place.task < 0 || static_cast<size_t>(place.task) >= slots_.size() || !place.indexed() ||
      place.index >= tasks_[place.task].replicas) {
    return;
  }
  PodSlots& slots = slots_[place.task];
  if (!value && slots.Find(place.index) == nullptr) return;
  PodEntry& slot = slots.Make(place.index);
  if (slot.present() || slot.succeeded_gone == value) return;
  Contribute({}, place, slot, false);
  slot = PodEntry();
  if (value) {
    slot.succeeded_gone = true;
    slot.version = rules_.version;
    slot.phase = kube::v1::POD_PHASE_SUCCEEDED;
  }
  Contribute({}, place, slot, true);
  slots.Release(place.index);
}

std::pair<kube::v1::PodCounts, std::vector<TaskCounts>> PodSet::CountUnder(const PodRules& rules) const {
  kube::v1::PodCounts counts;
  std::vector<TaskCounts> tasks(tasks_.size());
  const auto add = [&](PodIndex place, const PodEntry& entry) { CountPod(place, entry, rules, 1, counts, tasks); };
  for (size_t t = 0; t < slots_.size(); ++t) {
    slots_[t].ForEach([&](int32_t index, const PodEntry& entry) { add({static_cast<int32_t>(t), index}, entry); });
  }
  for (const auto& [name, other] : others_) add({other.task, -1}, other.entry);
  return {counts, tasks};
}

std::vector<std::string> PodSet::OfNoTask() const {
  std::vector<std::string> names;
  for (const auto& [name, other] : others_) {
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
  const size_t last_task = task >= 0 ? first_task + 1 : slots_.size();
  for (size_t t = first_task; t < last_task; ++t) {
    const int64_t replicas = tasks_[t].replicas;
    // Without partitions all pods are in the first one.
    const int64_t size = task >= 0 && tasks_[t].partition_size > 0 ? tasks_[t].partition_size : replicas;
    const int64_t first = partition >= 0 ? std::min(replicas, partition * size) : 0;
    const int64_t last = partition >= 0 ? std::min(replicas, first + size) : replicas;
    slots_[t].ForEachOf(static_cast<int32_t>(first), static_cast<int32_t>(last),
                        [&add](int32_t, const PodEntry& entry) { add(entry); });
  }
  if (partition >= 0) return uids;
  for (const auto& [name, other] : others_) {
    if (task < 0 || other.task == task) add(other.entry);
  }
  return uids;
}

std::set<std::string> PodSet::Terminating() const {
  std::set<std::string> uids;
  const auto add = [&](PodIndex place, const PodEntry& entry) {
    if (entry.present() && CountsAsTerminating(place, entry, rules_)) uids.insert(entry.uid);
  };
  for (size_t t = 0; t < slots_.size(); ++t) {
    slots_[t].ForEach([&](int32_t index, const PodEntry& entry) { add({static_cast<int32_t>(t), index}, entry); });
  }
  for (const auto& [name, other] : others_) add({other.task, -1}, other.entry);
  return uids;
}

}  // namespace basalt::jobsvc
