#pragma once

// Records what was decided about groups, and publishes what people see of them, in the batch of a pass. Confined to the
// worker's loop.
#include <cstdint>
#include <string>
#include <string_view>

#include "basalt/podgroup/v1/pod_group_query.pb.h"
#include "common/kv/kv_store.h"
#include "common/runtime/watch/publisher.h"
#include "services/pgsvc/control/group/group_entry.h"
#include "services/pgsvc/control/group_records.h"

namespace basalt::pgsvc {

class GroupPublisher {
 public:
  // Both outlive it.
  GroupPublisher(GroupRecords& records, runtime::Publisher& publisher) : records_(records), publisher_(publisher) {}

  struct View {
    const kube::v1::PodGroup* observed = nullptr;  // Null if Kubernetes has no such group.
    bool is_there = false;                         // People see the group: it is observed, or pods want it.
    bool is_unwanted = false;                      // Nothing is left that the group's history could go on with.
    uint64_t state = 0;                            // A hash of what people see.
  };
  // `key`: kube::ShownGroupKey. True if the end of the history follows in a later batch, as the store has to have the
  // entries before it.
  bool Record(uint32_t slot, const std::string& key, const View& view, GroupEntry& entry, kv::WriteBatch& batch);
  // Takes over what was published before the slot was opened.
  static void Load(const storage::v1::PublishedObject& record, GroupEntry& entry);
  // The group as people see it, but for what only its profile knows.
  static podgroup::v1::PodGroup Show(std::string_view scope, std::string_view name, const kube::v1::PodGroup* observed,
                                     size_t pods, const GroupEntry& entry);

 private:
  GroupRecords& records_;
  runtime::Publisher& publisher_;
};

}  // namespace basalt::pgsvc
