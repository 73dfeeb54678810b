#pragma once

// Errors with details that programs can read (proto basalt/common/v1/error_details.proto): a status carries them as
// payloads, the gRPC bridge takes them over the wire. Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "basalt/common/v1/error_details.pb.h"
#include "common/kube/kinds.h"

namespace basalt::rpc {

struct FieldViolation {
  std::string field;     // "spec.tasks[1].name", "page_size"
  std::string sentence;  // Names the field and the rule: "page_size: must not be negative".
};

// INVALID_ARGUMENT: a line for each sentence, and BadRequest with them; of more than twenty the first, and how many
// more there are. Requires: one at least.
absl::Status InvalidFields(const std::vector<FieldViolation>& violations);
// The same of one field: "<field>: <rule>".
absl::Status InvalidField(std::string_view field, std::string_view rule);
// `status` with ResourceInfo of an object: `name` is "<namespace>/<name>", or "<name>" of what is in no namespace. OK
// stays OK.
absl::Status WithResource(absl::Status status, const kube::Kind& kind, std::string_view name);

std::optional<google::rpc::BadRequest> BadRequestOf(const absl::Status& status);
std::optional<google::rpc::ResourceInfo> ResourceInfoOf(const absl::Status& status);

// What travels beside a status: all its payloads; empty where there are none. Details travel in a header, which has a
// limit: of a BadRequest that is larger than `max_bytes` the first violations go, other details are left out.
std::string SerializeDetails(const absl::Status& status, size_t max_bytes);
// Adds the payloads to `status`; what cannot be read adds nothing.
void ParseDetails(std::string_view serialized, absl::Status& status);

}  // namespace basalt::rpc
