#pragma once

// Decodes the text of one Job into its projected message, for callers without a watch. The rules are those of job.h;
// this header needs no JSON library. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"

namespace basalt::kube {

// Returns the definition's name of an event or an iteration that documents for users call by another name: Any,
// JobUnknown, IterationAny, IterationAll (job spec 14, S4 to S6). Returns every other name unchanged.
std::string_view WireEvent(std::string_view event);
std::string_view WireIteration(std::string_view iteration);

struct DecodedJob {
  v1::Job job;
  std::string api_version;
  std::string kind;
  // Each error is "<field>: <rule>". The fields that errors name are treated as absent in `job`.
  std::vector<std::string> errors;
};

// Decodes a Job that a server has stored, and ignores fields that no message has. INVALID_ARGUMENT: the text is no JSON
// or no object.
absl::StatusOr<DecodedJob> DecodeStoredJob(std::string_view text);
// Decodes a Job that a person has written. A field of the Job or its spec that does not exist is an error, too, and so
// is a null in a list. (The server validates a pod template, a claim and the metadata.)
absl::StatusOr<DecodedJob> DecodeWrittenJob(std::string_view text);

}  // namespace basalt::kube
