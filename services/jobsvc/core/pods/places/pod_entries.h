#pragma once

// The entries of the pods of one job: those at an index of a task, and the others, which have a name alone (surplus
// after scaling down, foreign, of an odd name). Says nothing about what the entries mean. Pure.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "services/jobsvc/core/pods/places/pod_slots.h"
#include "services/jobsvc/core/pods/pod_rules.h"
#include "services/jobsvc/core/pods/task_facts.h"

namespace basalt::jobsvc {

class PodEntries {
 public:
  struct Other {
    int32_t task = -1;
    PodEntry entry;
  };
  using Others = std::map<std::string, Other, std::less<>>;

  // Starts without entries.
  void Reset(const std::vector<TaskShape>& tasks);
  // Null if nothing is stored for it. The pointer is valid until the entry is erased.
  PodEntry* Find(std::string_view name, PodIndex place);
  const PodEntry* Find(std::string_view name, PodIndex place) const;
  // Returns the entry, made if needed.
  PodEntry& Make(std::string_view name, PodIndex place);
  // At an index: frees the memory of the index and its neighbours if all of them are empty. Else erases the entry.
  void Release(std::string_view name, PodIndex place);

  // Entries at an index, by task.
  const std::vector<PodSlots>& slots() const { return slots_; }
  const Others& others() const { return others_; }
  // Number of entries in memory at an index.
  size_t room() const;
  template <typename Visit>  // Visit(place, entry), in order; the others come last.
  void ForEach(Visit visit) const {
    for (size_t t = 0; t < slots_.size(); ++t) {
      slots_[t].ForEach([&](int32_t index, const PodEntry& entry) {
        visit(PodIndex{static_cast<int32_t>(t), index}, entry);
      });
    }
    for (const auto& [name, other] : others_) visit(PodIndex{other.task, -1}, other.entry);
  }

 private:
  std::vector<PodSlots> slots_;
  Others others_;
};

}  // namespace basalt::jobsvc
