#include "kubesim/server/write/collection_deletion.h"

#include <algorithm>
#include <string>

#include "common/base/status_macros.h"
#include "kubesim/server/request/errors.h"
#include "kubesim/server/request/selectors.h"

namespace basalt::kubesim {
absl::StatusOr<CollectionDeletion> CollectionDeletion::Start(Core& core, Deleter& deleter, const RequestInfo& info,
                                                             std::string_view body) {
  BASALT_ASSIGN_OR_RETURN(DeleteOptions options, ReadDeleteOptions(info, body));
  BASALT_ASSIGN_OR_RETURN(const Selector selector, SelectorOf(info));
  CollectionDeletion deletion(core, deleter, info.type, std::move(options));
  deletion.deadline_ = core.Now() + info.timeout;
  core.store.Visit(info.type->Resource(), info.ns, nullptr, [&](const ObjectKey&, const RevisionPtr& revision) {
    if (selector.Matches(revision->object())) deletion.chosen_.push_back(revision);
    return true;
  });
  return deletion;
}

absl::StatusOr<bool> CollectionDeletion::Advance() {
  if (core_.Now() >= deadline_) return TimedOut();
  const std::string resource = type_->Resource();
  const size_t end = std::min(chosen_.size(), next_ + core_.options.collection_slice);
  for (; next_ < end; ++next_) {
    const RevisionPtr chosen = std::move(chosen_[next_]);
    const ObjectKey key{std::string(MetaString(chosen->object(), "namespace")),
                        std::string(MetaString(chosen->object(), "name"))};
    const RevisionPtr live = core_.store.Get(resource, key);
    if (live == nullptr) continue;
    BASALT_ASSIGN_OR_RETURN(Deleted deleted, deleter_.DeleteOne(*type_, key, options_));
    // Encode the object here, so that this work is spread over the slices: the answer and the watches need the text.
    deleted.object->Text();
    deleted_.push_back(std::move(deleted.object));
  }
  return next_ == chosen_.size();
}

}  // namespace basalt::kubesim
