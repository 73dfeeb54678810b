#pragma once

// Kubernetes' scalar texts: timestamps, Go durations and phases; quantities come with quantity.h. Pure functions, safe
// from any thread. A text that is not of the form gives INVALID_ARGUMENT that names the text and the rule. Job
// spec 1.2.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/quantity.h"

namespace basalt::kube {

// RFC 3339 (also with a fraction or a numeric offset) -> milliseconds since the Unix epoch.
absl::StatusOr<int64_t> ParseTime(std::string_view text);
// As metav1.Time prints it: UTC, whole seconds, rounded down: 2026-01-02T15:04:05Z.
std::string FormatTime(int64_t ms);
// As metav1.MicroTime prints it (Lease, Event): 2026-01-02T15:04:05.123000Z.
std::string FormatMicroTime(int64_t ms);

// Go's duration syntax: optional sign, then <decimal><unit>…; "0" is legal. Fails beyond ±292 years, as Go does.
absl::StatusOr<absl::Duration> ParseGoDuration(std::string_view text);
// Go's canonical form: 1h0m0s, 10m0s, 17.579010043s, 500ms, 0s.
std::string FormatGoDuration(absl::Duration duration);

// The wire text; empty for UNSPECIFIED.
std::string_view JobPhaseName(v1::JobPhase phase);
std::string_view PodPhaseName(v1::PodPhase phase);
// The empty text is UNSPECIFIED; nullopt: no such phase.
std::optional<v1::JobPhase> ParseJobPhase(std::string_view text);
std::optional<v1::PodPhase> ParsePodPhase(std::string_view text);

}  // namespace basalt::kube
