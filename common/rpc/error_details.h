#pragma once

// Errors with details that programs can read (proto basalt/common/v1/error_details.proto). A status carries the details
// as payloads, and the gRPC bridge sends them over the wire. Pure: any thread.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "basalt/common/v1/error_details.pb.h"
#include "common/kube/kinds.h"

namespace basalt::rpc {

struct FieldViolation {
  std::string field;     // For example "spec.tasks[1].name" or "page_size".
  std::string sentence;  // Names the field and the rule: "page_size: must not be negative".
};

// Returns INVALID_ARGUMENT with a line for each sentence, and with a BadRequest of them. If there are more than twenty
// violations, it has the first twenty and the number of the others. Requires: at least one violation.
absl::Status InvalidFields(const std::vector<FieldViolation>& violations);
// Returns InvalidFields for one violation, whose sentence is "<field>: <rule>".
absl::Status InvalidField(std::string_view field, std::string_view rule);
// Returns `status` with the ResourceInfo of an object. `name` is "<namespace>/<name>", or "<name>" for an object
// without a namespace. OK stays OK.
absl::Status WithResource(absl::Status status, const kube::Kind& kind, std::string_view name);

std::optional<google::rpc::BadRequest> BadRequestOf(const absl::Status& status);
std::optional<google::rpc::ResourceInfo> ResourceInfoOf(const absl::Status& status);

// Returns all payloads of a status in the form that travels beside it. Empty if there are none. Details travel in a
// header, which has a size limit: of a BadRequest that exceeds `max_bytes` the last violations are left out; another
// detail that exceeds it is left out entirely.
std::string SerializeDetails(const absl::Status& status, size_t max_bytes);
// Adds the payloads to `status`. Text that cannot be parsed adds nothing.
void ParseDetails(std::string_view serialized, absl::Status& status);

}  // namespace basalt::rpc
