#include "common/runtime/events/object_events.h"

#include <algorithm>
#include <limits>

#include "common/base/json.h"
#include "common/kube/kinds.h"
#include "common/kube/requests.h"
#include "common/kube/text.h"

namespace basalt::runtime {
namespace {

using Request = EventSeries::Request;

constexpr int64_t kMostCount = std::numeric_limits<int32_t>::max();

// Looks in both directions: a clock that was set back by more than `duration` blocks nothing.
bool WasSentWithin(absl::Duration duration, const EventSeries& series, absl::Time now) {
  return absl::AbsDuration(now - absl::FromUnixMillis(series.last_sent_ms)) < duration;
}

// Returns the count of an Event as the API server has it. An Event without a count was recorded once, when it was
// created.
int64_t CountOf(const kube::v1::GenericObject& event) {
  const absl::StatusOr<json::value> body = ParseJson(event.json());
  return body.ok() ? std::clamp<int64_t>(FindInt(*body, "count"), 1, kMostCount) : 1;
}

gateway::v1::WriteRequest WriteOfEvent(const kube::Event& event) {
  return kube::WriteOf(kube::kEvents, kube::NamespaceOf(event), kube::NameOf(event));
}

gateway::v1::GetRequest GetOfEvent(const kube::Event& event) {
  return kube::GetOf(kube::kEvents, kube::NamespaceOf(event), kube::NameOf(event));
}

gateway::v1::WriteRequest PatchOfCount(const kube::Event& event, const EventSeries& series,
                                       const kube::v1::ObjectMeta& found) {
  const json::object body{{"count", series.count}, {"lastTimestamp", kube::FormatTime(series.last_sent_ms)}};
  gateway::v1::WriteRequest request = WriteOfEvent(event);
  kube::SetMergePatch(ToText(body), found.uid(), request).set_resource_version(found.resource_version());
  return request;
}

}  // namespace

EventRequest ObjectEvents::Record(const kube::Event& event, absl::Time now, absl::Duration interval) {
  changed_ = true;
  std::erase_if(series_, [lifetime = std::max(kLifetime, interval), now](const EventSeries& series) {
    return series.under_way == Request::kNone && !WasSentWithin(lifetime, series, now);
  });
  EventSeries* const known = Find(event);
  if (known == nullptr) {
    if (!MakeRoom()) return {};
    EventSeries& series = series_.emplace_back();
    series.key = kube::KeyOf(event);
    return Begin(series, event, now);
  }
  known->count = static_cast<int32_t>(std::min(int64_t{known->count} + 1, kMostCount));
  if (known->under_way != Request::kNone || WasSentWithin(interval, *known, now)) return {};
  known->last_sent_ms = absl::ToUnixMillis(now);
  known->under_way = Request::kGet;
  known->created = false;
  return GetOfEvent(event);
}

EventRequest ObjectEvents::OnWritten(const kube::Event& event, const WriteOutcome& outcome, absl::Time now) {
  EventSeries* const series = Find(event);
  if (series == nullptr || (series->under_way != Request::kCreate && series->under_way != Request::kPatch)) return {};
  const Request request = std::exchange(series->under_way, Request::kNone);
  if (request == Request::kCreate && IsNameTaken(outcome)) {
    series->under_way = Request::kGet;
    return GetOfEvent(event);
  }
  const bool is_missing = outcome.kind == WriteOutcome::Kind::kRefused && outcome.error.code() == 404;
  return request == Request::kPatch && is_missing ? OnMissing(*series, event, now) : EventRequest();
}

EventRequest ObjectEvents::OnRead(const kube::Event& event, const absl::StatusOr<gateway::v1::GetResponse>& answer,
                                  absl::Time now) {
  EventSeries* const series = Find(event);
  if (series == nullptr || series->under_way != Request::kGet) return {};
  series->under_way = Request::kNone;
  if (!answer.ok()) return {};
  if (answer->error().code() == 404) return OnMissing(*series, event, now);
  if (!answer->has_object()) return {};
  const kube::v1::GenericObject& found = answer->object().generic();
  const int64_t counted = CountOf(found);
  // The Event that a create has found was counted by a process that knew nothing of this series.
  const int64_t count = series->created ? counted + series->count : std::max<int64_t>(series->count, counted + 1);
  series->count = static_cast<int32_t>(std::min(count, kMostCount));
  series->under_way = Request::kPatch;
  changed_ = true;
  return PatchOfCount(event, *series, found.meta());
}

EventSeries* ObjectEvents::Find(const kube::Event& event) {
  const auto it = std::find_if(series_.begin(), series_.end(),
                               [key = kube::KeyOf(event)](const EventSeries& series) { return series.key == key; });
  return it == series_.end() ? nullptr : &*it;
}

bool ObjectEvents::MakeRoom() {
  if (series_.size() < kMostSeries) return true;
  const auto oldest = std::find_if(series_.begin(), series_.end(),
                                   [](const EventSeries& series) { return series.under_way == Request::kNone; });
  if (oldest == series_.end()) return false;
  series_.erase(oldest);
  return true;
}

EventRequest ObjectEvents::Begin(EventSeries& series, const kube::Event& event, absl::Time now) {
  changed_ = true;
  series.count = 1;
  series.first_ms = series.last_sent_ms = absl::ToUnixMillis(now);
  series.under_way = Request::kCreate;
  series.created = true;
  gateway::v1::WriteRequest request = WriteOfEvent(event);
  request.mutable_create()->set_body(kube::BodyOf(event, series.first_ms));
  return request;
}

EventRequest ObjectEvents::OnMissing(EventSeries& series, const kube::Event& event, absl::Time now) {
  if (!series.created) return Begin(series, event, now);
  // The Event existed when it was created. The next record creates it, so that no chain of requests goes in a circle.
  series_.erase(series_.begin() + (&series - series_.data()));
  changed_ = true;
  return {};
}

}  // namespace basalt::runtime
