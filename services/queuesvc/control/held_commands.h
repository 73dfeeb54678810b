#pragma once

// The Commands about one queue that exist, oldest first. Finding, adding and forgetting one does not walk over the
// others. Confined to the worker's loop.
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/queue_record.pb.h"

namespace basalt::queuesvc {

class HeldCommands {
 public:
  struct Held {
    kube::v1::Command command;
    int64_t first_tried_ms = 0;  // When a pass first considered `command`; 0 if none has.
    bool is_deleted = false;     // By this service; the watch has not reported the deletion yet.
  };

  bool empty() const { return held_.empty(); }
  bool Has(std::string_view uid) const { return ages_.contains(std::string(uid)); }

  // Stores a Command as it is now.
  void See(kube::v1::Command seen);
  void Forget(std::string_view uid);
  void MarkDeleted(std::string_view uid);
  // A pass considers the Command. Returns when the first pass did. Requires: the Command is there.
  int64_t NoteTried(std::string_view uid, int64_t now_ms);

  // Returns the oldest Command that is to be carried out or, if `deletes`, that is to be deleted because it has ended
  // by the record. Null if there is none. Valid until the Command is forgotten.
  const kube::v1::Command* Next(const storage::v1::QueueRecord& record, bool deletes) const;
  // Whether two Commands or more have not ended.
  bool HaveSeveralOpen(const storage::v1::QueueRecord& record) const;

 private:
  // Orders the Commands. Kubernetes' times are whole seconds: the version orders Commands of the same second.
  struct Age {
    int64_t creation_ms = 0;
    int64_t resource_version = 0;  // At the first observation.
    std::string uid;
    auto operator<=>(const Age&) const = default;
  };

  std::map<Age, Held> held_;
  std::unordered_map<std::string, Age> ages_;  // By UID.
};

}  // namespace basalt::queuesvc
