#pragma once

// States and ends of the pods of one job that no pass has looked at yet, and what a pass makes of them: counters,
// records, and events (job spec 3.3). Kept per name in the order of observation; states of one UID are merged, the
// newest wins. On the controller's loop.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "common/kv/kv_store.h"
#include "common/runtime/controller.h"
#include "services/jobsvc/core/events.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class PodChanges {
 public:
  void Observe(kube::v1::Pod&& pod);
  void ObserveEnd(const runtime::Gone& gone);
  // A state of before what was observed since: of a UID that was observed since, or under whose name a pod is there, it
  // says nothing.
  void ObserveEarlier(kube::v1::Pod&& pod);

  // Takes all of them; returns the events that they are.
  std::vector<JobEvent> Apply(JobEntry& entry, PartHost& host, kv::WriteBatch& batch);
  // The job is not there: its pods keep their records until they are gone. What is about pods of a job that may be
  // about to come is kept.
  void ApplyWithoutJob(JobEntry& entry, PartHost& host, kv::WriteBatch& batch);

  bool empty() const { return changes_.empty(); }
  // The newest that is observed under the name is about the pod of that UID.
  bool IsNewest(const std::string& name, const std::string& uid) const;
  template <typename Visit>  // Visit(name, newest state; null: none is known).
  void ForEachName(Visit visit) const {
    for (const auto& [name, changes] : changes_) {
      const std::optional<kube::v1::Pod>& state = changes.back().state;
      visit(name, state ? &*state : nullptr);
    }
  }

 private:
  struct Change {
    std::optional<kube::v1::Pod> state;  // Newest (of an end: the last seen, if it came along).
    GoneReason gone = GoneReason::kNotGone;
    std::string uid;
  };
  using ByName = std::map<std::string, std::vector<Change>>;

  std::vector<ByName::iterator> InOrder();
  void ApplyOne(JobEntry& entry, const std::string& name, const Change& change, int64_t now_ms,
                std::vector<JobEvent>& events, PartHost& host, kv::WriteBatch& batch);

  ByName changes_;
  bool watches_ = false;  // A pass has looked at the pods that there were: they live until something else is observed.
};

}  // namespace basalt::jobsvc
