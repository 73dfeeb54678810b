#pragma once

// The deletion of all objects that one request chooses, in slices, between which other requests are served. Confined to
// the server's loop. `core` and `deleter` outlive this object.
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kubesim/server/request/request_info.h"
#include "kubesim/server/state/core.h"
#include "kubesim/server/write/deletion.h"

namespace basalt::kubesim {

class CollectionDeletion {
 public:
  // Chooses the objects that exist now. Nothing is deleted yet.
  static absl::StatusOr<CollectionDeletion> Start(Core& core, Deleter& deleter, const RequestInfo& info,
                                                  std::string_view body);

  // Deletes the next objects. Returns true if none is left. An object that has gone meanwhile is skipped; an object
  // that was created under its name meanwhile is deleted instead. The first object that may not be deleted ends the
  // deletion with an error, and so does the client's timeout.
  absl::StatusOr<bool> Advance();

  // The last states of the deleted objects, in the order of their keys.
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
