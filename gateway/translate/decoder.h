#pragma once

// Kubernetes' JSON -> the projected messages of kube.proto. Pure: no threads, clocks or logs.
//
// What is missing, null or of the wrong type never loses an object: the field is treated as absent and named in
// Decoded.error (for a Job in Job.decode_error too). INVALID_ARGUMENT only where the text is no JSON, or where there
// is nothing to know the object by. Field sources: kube.proto, job spec 1.3-1.10, podgroup spec 1, queue spec 1.
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

// Into which message an object is projected.
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
  kClusterRule,  // A generic object with its whole spec: the definition of KAI's groups, and Kartas.
  kOwner,        // A GenericObject with the JSON that rules of grouping read: of an owner of pods.
  kGeneric,
};

// kGeneric for every resource that has no message of its own; and for the kinds of workloads and of other owners, of
// which only watches make one.
ObjectKind KindOf(std::string_view group, std::string_view plural);

struct Decoded {
  kube::v1::Object object;
  // Fields that could not be read, each with the rule; at most the first few. Empty = none.
  std::string error;
  int64_t deletion_grace_seconds = -1;  // metadata.deletionGracePeriodSeconds; -1 = absent.
  bool finalizers = false;
  // The text was a Status (the answer of some deletions); `object` is then empty.
  bool is_status = false;
  // Nobody wants the object (Decoder::KeepOnly): it has its identity alone.
  bool is_unwanted = false;
};

// Whether somebody wants the object of that namespace and name.
using Wants = std::function<bool(std::string_view ns, std::string_view name)>;

enum class WatchType { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchType type = WatchType::kAdded;
  Decoded decoded;                  // Not for kBookmark and kError.
  int64_t resource_version = 0;     // Of the object or bookmark.
  bool initial_events_end = false;  // A bookmark that ends the first part of a streaming list.
  v1::KubeError error;              // Only for kError.
};

struct DecodedList {
  std::vector<Decoded> items;
  int64_t resource_version = 0;
  std::string continue_token;
};

// Keeps its buffers from call to call: one per reflector. Not thread-safe.
class Decoder {
 public:
  // Whether a generic object carries its whole JSON, and a group of KAI's its status.
  enum class Json { kOmit, kKeep };

  explicit Decoder(ObjectKind kind, Json json = Json::kOmit);
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  // Only for kOwner. What is not wanted is left out of lists, and its spec is not read.
  void KeepOnly(Wants wants);

  absl::StatusOr<Decoded> DecodeObject(std::string_view text);
  // One line of a watch: {"type": …, "object": …}. `event` may hold an earlier one, whose memory is then used again; it
  // means something only where the status is OK.
  absl::Status DecodeWatchLine(std::string_view text, WatchEvent& event);
  absl::StatusOr<WatchEvent> DecodeWatchLine(std::string_view text);
  // One page. Fails as a whole if an item has no name or is not an object.
  absl::StatusOr<DecodedList> DecodeList(std::string_view text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A refusal: the Status in `body`, or what `http_status` alone says where the body is something else (a proxy's page).
v1::KubeError DecodeStatusError(int http_status, std::string_view body);

}  // namespace basalt::gateway
