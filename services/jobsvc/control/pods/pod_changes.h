#pragma once

// States and ends of the pods of one job that no pass has applied yet, and how a pass applies them: to counters,
// records, and events (job spec 3.3). They are kept per name in the order of observation; states of one UID are merged,
// and the newest wins. Lives on the controller's loop.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "common/kv/kv_store.h"
#include "common/runtime/controller.h"
#include "services/jobsvc/core/events/events.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class PodChanges {
 public:
  void Observe(kube::v1::Pod&& pod);
  void ObserveEnd(const runtime::Gone& gone);
  // Adds a state that is older than everything that was observed. It counts for nothing if its UID was observed since,
  // or if a pod is there under its name.
  void ObserveEarlier(kube::v1::Pod&& pod);

  // Applies and removes all changes. Returns the events that follow.
  std::vector<JobEvent> Apply(JobEntry& entry, PartHost& host, kv::WriteBatch& batch);
  // Applies the changes while the job is not there: its pods keep their records until they are gone. A change stays if
  // the job of its pod may be about to come.
  void ApplyWithoutJob(JobEntry& entry, PartHost& host, kv::WriteBatch& batch);

  bool empty() const { return changes_.empty(); }
  // True if the newest change under the name is about the pod of that UID.
  bool IsNewest(const std::string& name, const std::string& uid) const;
  template <typename Visit>  // Visit(name, newest state). The state is null if none is known.
  void ForEachName(Visit visit) const {
    for (const auto& [name, changes] : changes_) {
      const std::optional<kube::v1::Pod>& state = changes.back().state;
      visit(name, state ? &*state : nullptr);
    }
  }

 private:
  struct Change {
    std::optional<kube::v1::Pod> state;  // The newest state. For an end: the last state, if it is known.
    GoneReason gone = GoneReason::kNotGone;
    std::string uid;
  };
  using ByName = std::map<std::string, std::vector<Change>>;

  std::vector<ByName::iterator> InOrder();
  void ApplyOne(JobEntry& entry, const std::string& name, const Change& change, int64_t now_ms,
                std::vector<JobEvent>& events, PartHost& host, kv::WriteBatch& batch);

  ByName changes_;
  // A pass has applied the pods that existed at the start. From then on a pod is alive until something else is
  // observed.
  bool watches_ = false;
};

}  // namespace basalt::jobsvc
