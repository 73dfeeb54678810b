#pragma once

// Sub-resources that are not simply a view of the object: binding, eviction, scale and log.
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "kubesim/server/request/request_info.h"
#include "kubesim/server/state/core.h"
#include "kubesim/server/write/deletion.h"
#include "kubesim/server/write/objects.h"

namespace basalt::kubesim {

class SubResources {
 public:
  SubResources(Core& core, ObjectWriter& writer, Deleter& deleter) : core_(core), writer_(writer), deleter_(deleter) {}

  // Of a request with a subresource other than status. NoSuchResource where the kind has none of that name.
  absl::StatusOr<Answer> Handle(const RequestInfo& info, std::string_view body);
  // The text of pods/log: none, but of a pod that is there.
  absl::StatusOr<std::string> Log(const RequestInfo& info) const;

 private:
  absl::StatusOr<Answer> Bind(const RequestInfo& info, std::string_view body);
  absl::StatusOr<Answer> Evict(const RequestInfo& info, std::string_view body);
  absl::StatusOr<Answer> Scale(const RequestInfo& info, std::string_view body);

  Core& core_;
  ObjectWriter& writer_;
  Deleter& deleter_;
};

}  // namespace basalt::kubesim
