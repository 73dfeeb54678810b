#pragma once

// The Commands about one queue that are there, oldest first. One is found, added and forgotten without a walk over the
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
    int64_t first_tried_ms = 0;  // When a pass first looked at what is to be done of it; 0: none has.
    bool is_deleted = false;     // By us: its watch has not told yet.
  };

  bool empty() const { return held_.empty(); }
  bool Has(std::string_view uid) const { return ages_.contains(std::string(uid)); }

  // A Command as it is now.
  void See(kube::v1::Command seen);
  void Forget(std::string_view uid);
  void MarkDeleted(std::string_view uid);
  // A pass looks at what is to be done of the Command. Returns when the first pass did. Requires: the Command is there.
  int64_t NoteTried(std::string_view uid, int64_t now_ms);

  // The oldest Command that is to be carried out or, if `deletes`, to be deleted, as it has ended by the record; null:
  // there is none. Valid until the Command is forgotten.
  const kube::v1::Command* Next(const storage::v1::QueueRecord& record, bool deletes) const;
  // Whether two Commands or more have not ended.
  bool HaveSeveralOpen(const storage::v1::QueueRecord& record) const;

 private:
  // The older one comes first. Times of Kubernetes are whole seconds: among those of one second the version tells.
  struct Age {
    int64_t creation_ms = 0;
    int64_t resource_version = 0;  // As it was first seen.
    std::string uid;
    auto operator<=>(const Age&) const = default;
  };

  std::map<Age, Held> held_;
  std::unordered_map<std::string, Age> ages_;  // By UID.
};

}  // namespace basalt::queuesvc
