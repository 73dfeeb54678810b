#include "services/pgsvc/control/group/group_publisher.h"

#include <utility>

#include "common/kube/group_profile.h"
#include "services/pgsvc/control/shown_state.h"

namespace basalt::pgsvc {

bool GroupPublisher::Record(uint32_t slot, const std::string& key, const View& view, GroupEntry& entry,
                            kv::WriteBatch& batch) {
  bool is_end_left = false;
  if (entry.record.has_notes()) {
    records_.Record(slot, key, entry.record, batch);
    is_end_left = entry.is_gone;
  } else if (entry.is_gone && view.is_unwanted) {
    entry.is_gone = false;
    records_.End(slot, key, entry.record, batch);
  }
  if (view.is_there) {
    runtime::Publisher::Identity identity;
    if (view.observed != nullptr) identity = {view.observed->meta().uid(), view.observed->meta().resource_version()};
    entry.published_uid = identity.uid;
    publisher_.PublishIfChanged(slot, key, view.state, identity, entry.published, batch);
  } else if (!entry.is_awaited) {
    publisher_.PublishEnd(slot, key, std::exchange(entry.published_uid, ""), entry.published, batch);
  }
  return is_end_left;
}

void GroupPublisher::Load(const storage::v1::PublishedObject& record, GroupEntry& entry) {
  entry.published = runtime::ShownOf(record);
  entry.published_uid = record.uid();
  entry.is_awaited = !record.uid().empty();
}

podgroup::v1::PodGroup GroupPublisher::Show(std::string_view scope, std::string_view name,
                                            const kube::v1::PodGroup* observed, size_t pods, const GroupEntry& entry) {
  podgroup::v1::PodGroup message;
  message.set_profile(static_cast<podgroup::v1::Profile>(kube::ProfileOf(scope)));
  if (observed != nullptr) {
    *message.mutable_object() = *observed;
  } else {
    message.mutable_object()->mutable_meta()->set_namespace_(std::string(kube::NamespaceOf(scope)));
    message.mutable_object()->mutable_meta()->set_name(std::string(name));
  }
  message.set_pods(static_cast<int32_t>(pods));
  ShowRetry(entry.retry, message);
  return message;
}

}  // namespace basalt::pgsvc
