#pragma once

// The Events of one Kubernetes object, as series (correctness 3): the first record of a reason and message creates the
// Event, further ones are counted, and the count is patched into it at most once in an interval. An Event of that name
// that exists already, as after a restart, is counted on. One that the API server has forgotten begins anew.
//
// This class says which request comes next: a record of an Event, or the outcome of the request before, goes in, and a
// request comes out; EventRecorder sends it. There is at most one request at a time about an Event. Pure. A value: an
// object that begins anew is assigned a fresh one, and outcomes that come late find nothing, or change nothing. Its
// state is bounded: at most kMostSeries series are remembered, the newest. Best effort: any other refusal, and a
// request whose outcome is unknown, leave the series as it is; the next record after the interval asks again.
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

// What is remembered of one Event. Services may store it, but for what is under way.
struct EventSeries {
  enum class Request : uint8_t {
    kNone,
    kCreate,
    kGet,
    kPatch,
  };

  std::string key;           // kube::KeyOf the Event.
  int32_t count = 0;         // How often it was recorded. The Event itself may say less.
  int64_t first_ms = 0;      // When the series began.
  int64_t last_sent_ms = 0;  // When it was last created, or was last to be patched.
  Request under_way = Request::kNone;
  bool created = false;  // What is under way began with a create.
};

// The next request to the API server; monostate: none.
using EventRequest = std::variant<std::monostate, gateway::v1::WriteRequest, gateway::v1::GetRequest>;

class ObjectEvents {
 public:
  static constexpr size_t kMostSeries = 64;
  // For how long the API server keeps an Event that is not written again, unless it is configured otherwise.
  static constexpr absl::Duration kLifetime = absl::Hours(1);

  ObjectEvents() = default;
  // As they were stored; the oldest series comes first.
  explicit ObjectEvents(std::vector<EventSeries> series) : series_(std::move(series)) {}

  // The problem or step of which the Event tells has happened, for the first time or once more. `now` is the API
  // server's clock.
  EventRequest Record(const kube::Event& event, absl::Time now, absl::Duration interval);
  // How the create or patch of that Event ended.
  EventRequest OnWritten(const kube::Event& event, const WriteOutcome& outcome, absl::Time now);
  // The answer to the read of that Event.
  EventRequest OnRead(const kube::Event& event, const absl::StatusOr<gateway::v1::GetResponse>& answer, absl::Time now);

  const std::vector<EventSeries>& series() const { return series_; }
  // Whether what may be stored has changed since the last call.
  bool TakeChange() { return std::exchange(changed_, false); }

 private:
  // Null: nothing is remembered of it.
  EventSeries* Find(const kube::Event& event);
  // False: of each a request is under way.
  bool MakeRoom();
  EventRequest Begin(EventSeries& series, const kube::Event& event, absl::Time now);
  // The API server has no such Event.
  EventRequest OnMissing(EventSeries& series, const kube::Event& event, absl::Time now);

  std::vector<EventSeries> series_;
  bool changed_ = false;
};

}  // namespace basalt::runtime
