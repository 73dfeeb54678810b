#pragma once

// Sub-resources that are more than a view of the object: binding, eviction, scale and log.
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

  // Handles a request with a subresource other than status. NoSuchResource if the kind has no such subresource.
  absl::StatusOr<Answer> Handle(const RequestInfo& info, std::string_view body);
  // Returns the text of pods/log, which is always empty. An error if the pod does not exist.
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
