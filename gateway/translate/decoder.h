#pragma once

// Decodes Kubernetes' JSON into the projected messages of kube.proto. Pure: no threads, clocks or logs.
//
// A field that is missing, null or of the wrong type never loses an object: the field is treated as absent and named in
// Decoded.error (for a Job in Job.decode_error too). INVALID_ARGUMENT only if the text is no JSON, or if nothing
// identifies the object. Field sources: kube.proto, job spec 1.3-1.10, podgroup spec 1, queue spec 1.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"

namespace basalt::gateway {

// The message into which an object is projected.
enum class ObjectKind {
  kJob,
  kPod,
  kPodGroup,
  kQueue,
  kCommand,
  kPriorityClass,
  kWorkload,
  kKaiPodGroup,
  kKaiQueue,
  kClusterRule,  // A GenericObject with its whole spec, for the definition of KAI's groups, and for Kartas.
  kOwner,        // A GenericObject with the JSON that rules of grouping read, for an owner of pods.
  kGeneric,
};

// Returns kGeneric for every resource that has no message of its own. Returns kGeneric also for the kinds of workloads
// and other owners, since only watches project these into messages.
ObjectKind KindOf(std::string_view group, std::string_view plural);

struct Decoded {
  kube::v1::Object object;
  // The fields that could not be read, each with its rule; at most the first few. Empty if there are none.
  std::string error;
  int64_t deletion_grace_seconds = -1;  // metadata.deletionGracePeriodSeconds; -1 if absent.
  bool finalizers = false;
  // The text was a Status (the answer of some deletions); `object` is then empty.
  bool is_status = false;
  // Nobody wants the object (Decoder::KeepOnly), of which only the identity is set.
  bool is_unwanted = false;
};

// Whether somebody wants the object of that namespace and name.
using Wants = std::function<bool(std::string_view ns, std::string_view name)>;

enum class WatchType { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchType type = WatchType::kAdded;
  Decoded decoded;                  // Not set for kBookmark and kError.
  int64_t resource_version = 0;     // The version of the object or bookmark.
  bool initial_events_end = false;  // The bookmark ends the first part of a streaming list.
  v1::KubeError error;              // Set only for kError.
};

struct DecodedList {
  std::vector<Decoded> items;
  int64_t resource_version = 0;
  std::string continue_token;
};

// Keeps its buffers from call to call, so there is one for each reflector. Not thread-safe.
class Decoder {
 public:
  // Whether a generic object keeps its whole JSON, and a group of KAI's its status.
  enum class Json { kOmit, kKeep };

  explicit Decoder(ObjectKind kind, Json json = Json::kOmit);
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  // Only for kOwner. Unwanted objects are left out of lists, and their spec is not read.
  void KeepOnly(Wants wants);

  absl::StatusOr<Decoded> DecodeObject(std::string_view text);
  // Decodes one line of a watch: {"type": …, "object": …}. `event` may hold an earlier event, whose memory is then
  // reused. `event` is valid only if the status is OK.
  absl::Status DecodeWatchLine(std::string_view text, WatchEvent& event);
  absl::StatusOr<WatchEvent> DecodeWatchLine(std::string_view text);
  // Decodes one page. Fails as a whole if an item has no name or is not an object.
  absl::StatusOr<DecodedList> DecodeList(std::string_view text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Decodes a refusal: the Status in `body`, or the meaning of `http_status` if the body is something else (a proxy's
// page).
v1::KubeError DecodeStatusError(int http_status, std::string_view body);

}  // namespace basalt::gateway
