#pragma once

// The deletion of all objects that one request chooses, in slices: other requests are served between them. Confined to
// the server's loop; `core` and `deleter` outlive it.
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kubesim/server/request/request_info.h"
#include "kubesim/server/state/core.h"
#include "kubesim/server/write/deletion.h"

namespace basalt::kubesim {

class CollectionDeletion {
 public:
  // Chooses the objects that are there now; nothing is deleted yet.
  static absl::StatusOr<CollectionDeletion> Start(Core& core, Deleter& deleter, const RequestInfo& info,
                                                  std::string_view body);

  // Deletes some of what is left. True: nothing is left. An object that has gone meanwhile is passed over, one that
  // was made anew under its name goes in its place; the first one that may not be deleted ends it with an error, and so
  // does the end of the time that the client allows.
  absl::StatusOr<bool> Advance();

  // The last states of what has been deleted, in the order of the keys.
  const std::vector<RevisionPtr>& deleted() const { return deleted_; }
  absl::Time chosen() const { return chosen_at_; }

 private:
  CollectionDeletion(Core& core, Deleter& deleter, TypeInfoPtr type, DeleteOptions options)
      : core_(core), deleter_(deleter), type_(std::move(type)), options_(std::move(options)), chosen_at_(core.Now()) {}

  Core& core_;
  Deleter& deleter_;
  TypeInfoPtr type_;
  DeleteOptions options_;
  absl::Time chosen_at_;
  absl::Time deadline_ = absl::InfiniteFuture();
  std::vector<RevisionPtr> chosen_;
  size_t next_ = 0;
  std::vector<RevisionPtr> deleted_;
};

}  // namespace basalt::kubesim
