#pragma once

// The text of one Job -> its projected message, for whoever has no watch: the same rules as everywhere (job.h), without
// a JSON library in the header. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"

namespace basalt::kube {

// What a definition calls the event or the iteration that documents for users call by another word: Any, JobUnknown,
// IterationAny, IterationAll (job spec 14, S4 to S6). Every other word is its own.
std::string_view WireEvent(std::string_view event);
std::string_view WireIteration(std::string_view iteration);

struct DecodedJob {
  v1::Job job;
  std::string api_version;
  std::string kind;
  // "<field>: <rule>" each; what they name is treated as absent in `job`.
  std::vector<std::string> errors;
};

// As a server has stored it: fields that no message has are ignored. INVALID_ARGUMENT: no JSON, or no object.
absl::StatusOr<DecodedJob> DecodeStoredJob(std::string_view text);
// As a person has written it: a field of the Job or its spec that does not exist is an error too, and so is a null in a
// list (a pod template, a claim and the metadata are the server's to judge).
absl::StatusOr<DecodedJob> DecodeWrittenJob(std::string_view text);

}  // namespace basalt::kube
