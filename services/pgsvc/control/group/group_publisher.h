#pragma once

// Records the decisions about groups, and publishes the state of groups to clients that watch, in the batch of a pass.
// Confined to the worker's loop.
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
  // `records` and `publisher` outlive this object.
  GroupPublisher(GroupRecords& records, runtime::Publisher& publisher) : records_(records), publisher_(publisher) {}

  // A group as its profile sees it in this pass.
  struct View {
    const kube::v1::PodGroup* observed = nullptr;  // Null if Kubernetes has no such group.
    bool is_there = false;                         // Whether clients get the group: it is observed, or pods want it.
    bool is_unwanted = false;  // Whether nothing exists, waits or is under way that could continue the group's history.
    uint64_t state = 0;        // A hash of the published state.
  };
  // `key` is the group's kube::ShownGroupKey. Returns true if the end of the history has to follow in a later batch,
  // because the store must have the entries before it.
  bool Record(uint32_t slot, const std::string& key, const View& view, GroupEntry& entry, kv::WriteBatch& batch);
  // Restores the published state from before the slot was opened.
  static void Load(const storage::v1::PublishedObject& record, GroupEntry& entry);
  // Returns the group as clients get it, without the fields that only its profile knows.
  static podgroup::v1::PodGroup Show(std::string_view scope, std::string_view name, const kube::v1::PodGroup* observed,
                                     size_t pods, const GroupEntry& entry);

 private:
  GroupRecords& records_;
  runtime::Publisher& publisher_;
};

}  // namespace basalt::pgsvc
