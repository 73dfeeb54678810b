#pragma once

// The Events of one Kubernetes object, as series (correctness 3). The first record of a reason and message creates the
// Event; further records are counted, and the count is patched into the Event at most once in an interval. If an Event
// of that name exists already, as after a restart, its count goes on. An Event that the API server has forgotten begins
// anew.
//
// This class decides which request comes next: a record of an Event, or the outcome of the request before, goes in, and
// a request comes out; EventRecorder sends it. There is at most one request at a time about an Event. Pure. A value: an
// object that begins anew is assigned a fresh one, and late outcomes find nothing, or change nothing. Its state is
// bounded: only the newest kMostSeries series are remembered. Best effort: any other refusal, and a request whose
// outcome is unknown, leave the series as it is; the next record after the interval makes another request.
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/kube/event.h"
#include "common/runtime/write_outcome.h"

namespace basalt::runtime {

// The state of one Event. Services may store all of it but the request under way.
struct EventSeries {
  enum class Request : uint8_t {
    kNone,
    kCreate,
    kGet,
    kPatch,
  };

  std::string key;           // kube::KeyOf the Event.
  int32_t count = 0;         // How often the Event was recorded. The count in Kubernetes may be lower.
  int64_t first_ms = 0;      // When the series began.
  int64_t last_sent_ms = 0;  // When the Event was last created, or was last to be patched.
  Request under_way = Request::kNone;
  bool created = false;  // The requests under way began with a create.
};

// The next request to the API server; monostate if there is none.
using EventRequest = std::variant<std::monostate, gateway::v1::WriteRequest, gateway::v1::GetRequest>;

class ObjectEvents {
 public:
  static constexpr size_t kMostSeries = 64;
  // How long the API server keeps an Event that is not written again, unless it is configured otherwise.
  static constexpr absl::Duration kLifetime = absl::Hours(1);

  ObjectEvents() = default;
  // Takes stored series; the oldest comes first.
  explicit ObjectEvents(std::vector<EventSeries> series) : series_(std::move(series)) {}

  // Records that the problem or step of the Event has happened, for the first time or once more: each call counts.
  // `now` is the API server's clock.
  EventRequest Record(const kube::Event& event, absl::Time now, absl::Duration interval);
  // Takes the outcome of the create or patch of that Event. Call it, and OnRead, once for each request that was
  // returned.
  EventRequest OnWritten(const kube::Event& event, const WriteOutcome& outcome, absl::Time now);
  // Takes the answer to the read of that Event.
  EventRequest OnRead(const kube::Event& event, const absl::StatusOr<gateway::v1::GetResponse>& answer, absl::Time now);

  const std::vector<EventSeries>& series() const { return series_; }
  // Returns whether the parts that may be stored have changed since the last call.
  bool TakeChange() { return std::exchange(changed_, false); }

 private:
  // Returns null if the Event is not remembered.
  EventSeries* Find(const kube::Event& event);
  // Returns false if every series has a request under way.
  bool MakeRoom();
  EventRequest Begin(EventSeries& series, const kube::Event& event, absl::Time now);
  // The API server has no such Event.
  EventRequest OnMissing(EventSeries& series, const kube::Event& event, absl::Time now);

  std::vector<EventSeries> series_;
  bool changed_ = false;
};

}  // namespace basalt::runtime
