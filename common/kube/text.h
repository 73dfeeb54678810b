#pragma once

// Reads and prints Kubernetes' scalar texts: timestamps, Go durations and phases (quantities: quantity.h). Pure
// functions, safe from any thread. A text of another form gives INVALID_ARGUMENT, which names the text and the rule.
// Job spec 1.2.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/quantity.h"

namespace basalt::kube {

// Converts RFC 3339 (also with a fraction or a numeric offset) to milliseconds since the Unix epoch.
absl::StatusOr<int64_t> ParseTime(std::string_view text);
// Prints a time like metav1.Time: UTC, whole seconds, rounded down: 2026-01-02T15:04:05Z.
std::string FormatTime(int64_t ms);
// Prints a time like metav1.MicroTime (Lease, Event): 2026-01-02T15:04:05.123000Z.
std::string FormatMicroTime(int64_t ms);

// Parses Go's duration syntax: an optional sign, then <decimal><unit>…; "0" is legal. Fails beyond ±292 years, as Go
// does.
absl::StatusOr<absl::Duration> ParseGoDuration(std::string_view text);
// Prints Go's canonical form: 1h0m0s, 10m0s, 17.579010043s, 500ms, 0s.
std::string FormatGoDuration(absl::Duration duration);

// Return the text of the wire. Empty for UNSPECIFIED.
std::string_view JobPhaseName(v1::JobPhase phase);
std::string_view PodPhaseName(v1::PodPhase phase);
// Return UNSPECIFIED for the empty text. Nullopt if the phase does not exist.
std::optional<v1::JobPhase> ParseJobPhase(std::string_view text);
std::optional<v1::PodPhase> ParsePodPhase(std::string_view text);

}  // namespace basalt::kube
