#include "services/jobsvc/control/job_events.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/kube/event.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "services/jobsvc/control/part_host.h"

namespace basalt::jobsvc {

namespace {

constexpr std::string_view kComponent = "vc-controller-manager";

kube::Event EventOf(const JobEntry& entry, PendingEvent pending) {
  return {.api_version = kube::kJobApiVersion,
          .kind = kube::kJobs.name,
          .ns = entry.ns,
          .name = entry.name,
          .uid = entry.record.uid(),
          .resource_version = entry.record.resource_version(),
          .warning = pending.warning,
          .reason = std::move(pending.reason),
          .message = std::move(pending.message),
          .component = kComponent};
}

}  // namespace

JobEvents::JobEvents(PartHost& host)
    : recorder_(
          host.context(),
          [&host](const std::string& key, const std::string& uid) {
            JobEntry* const live = host.Live(key, uid);
            return live == nullptr ? nullptr : &live->events;
          },
          host.options().event_interval) {}

void JobEvents::Record(JobEntry& entry) {
  for (PendingEvent& pending : std::exchange(entry.pending_events, {})) {
    recorder_.Record(entry.key, entry.events, EventOf(entry, std::move(pending)));
  }
}

void LoadEvents(JobEntry& entry) {
  std::vector<runtime::EventSeries> stored;
  for (const storage::v1::SentEvent& event : entry.record.events()) {
    stored.push_back({.key = event.key(),
                      .count = event.count(),
                      .first_ms = event.first_ms(),
                      .last_sent_ms = event.last_sent_ms()});
  }
  entry.events = runtime::ObjectEvents(std::move(stored));
}

void StoreEvents(JobEntry& entry) {
  auto& stored = *entry.record.mutable_events();
  stored.Clear();
  for (const runtime::EventSeries& series : entry.events.series()) {
    storage::v1::SentEvent& event = *stored.Add();
    event.set_key(series.key);
    event.set_count(series.count);
    event.set_last_sent_ms(series.last_sent_ms);
    event.set_first_ms(series.first_ms);
  }
  entry.record_dirty = true;
}

}  // namespace basalt::jobsvc
