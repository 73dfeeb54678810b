// The Event resource (job spec 9.11): one object per job, reason and message; a repeat patches its series, at most once
// per interval. Best effort: a lost Event changes nothing.
#include <algorithm>
#include <string>
#include <utility>

#include "common/base/json.h"
#include "common/kube/event.h"
#include "common/kube/names.h"
#include "common/kube/requests.h"
#include "common/kube/text.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

namespace {

constexpr std::string_view kComponent = "vc-controller-manager";
constexpr int kMaxEventsPerJob = 64;

// Views into both.
kube::Event EventOf(const JobEntry& entry, const PendingEvent& note) {
  return {.api_version = kube::kJobApiVersion,
          .kind = kube::kJobs.name,
          .ns = entry.ns,
          .name = entry.name,
          .uid = entry.record.uid(),
          .resource_version = entry.record.resource_version(),
          .warning = note.warning,
          .reason = note.reason,
          .message = note.message,
          .component = kComponent};
}

}  // namespace

void JobController::SendNotes(JobEntry& entry) {
  for (const PendingEvent& note : std::exchange(entry.pending_events, {})) SendEvent(entry, note);
}

void JobController::SendEvent(JobEntry& entry, const PendingEvent& note) {
  const kube::Event event = EventOf(entry, note);
  const std::string series = kube::KeyOf(event);
  auto& events = *entry.record.mutable_events();
  const auto sent =
      std::find_if(events.begin(), events.end(), [&](const auto& earlier) { return earlier.key() == series; });
  entry.record_dirty = true;
  if (sent == events.end()) {
    if (events.size() >= kMaxEventsPerJob) events.DeleteSubrange(0, 1);
    events.Add()->set_key(series);
    return BeginSeries(entry, event, *events.rbegin());
  }
  sent->set_count(sent->count() + 1);
  const absl::Time now = context_.ApiNow();
  if (now - absl::FromUnixMillis(sent->last_sent_ms()) < options_.event_interval) return;
  sent->set_last_sent_ms(absl::ToUnixMillis(now));
  context_.Get(entry.key, kube::GetOf(kube::kEvents, entry.ns, kube::NameOf(event)),
               [this, key = entry.key, uid = entry.record.uid(), note](absl::StatusOr<gateway::v1::GetResponse> found) {
                 if (JobEntry* live = Live(key, uid); live != nullptr && found.ok())
                   GoOnWithSeries(*live, note, *found);
               });
}

void JobController::BeginSeries(JobEntry& entry, const kube::Event& event, storage::v1::SentEvent& sent) {
  const int64_t now_ms = absl::ToUnixMillis(context_.ApiNow());
  sent.set_count(1);
  sent.set_first_ms(now_ms);
  sent.set_last_sent_ms(now_ms);
  auto request = kube::WriteOf(kube::kEvents, entry.ns, kube::NameOf(event));
  request.mutable_create()->set_body(kube::BodyOf(event, now_ms));
  context_.Write(entry.key, std::move(request), [](runtime::WriteOutcome) {});
}

// The API server keeps an Event for about an hour: a series that it has forgotten begins anew.
void JobController::GoOnWithSeries(JobEntry& entry, const PendingEvent& note, const gateway::v1::GetResponse& found) {
  const kube::Event event = EventOf(entry, note);
  auto& events = *entry.record.mutable_events();
  const auto sent = std::find_if(events.begin(), events.end(),
                                 [series = kube::KeyOf(event)](const auto& it) { return it.key() == series; });
  if (sent == events.end()) return;
  if (found.error().code() == 404) {
    entry.record_dirty = true;
    context_.Wake(entry.key);  // The record is to be stored.
    return BeginSeries(entry, event, *sent);
  }
  if (!found.has_object()) return;
  const kube::v1::ObjectMeta& meta = found.object().generic().meta();
  const json::object body{{"count", sent->count()}, {"lastTimestamp", kube::FormatTime(sent->last_sent_ms())}};
  auto request = kube::WriteOf(kube::kEvents, entry.ns, kube::NameOf(event));
  kube::SetMergePatch(ToText(body), meta.uid(), request).set_resource_version(meta.resource_version());
  context_.Write(entry.key, std::move(request), [](runtime::WriteOutcome) {});
}

}  // namespace basalt::jobsvc
