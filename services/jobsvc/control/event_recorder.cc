// The Event resource (job spec 9.11): one object per job, reason and message; a repeat patches its series, at most once
// per interval. Best effort: a lost Event changes nothing.
#include <utility>

#include "common/base/json.h"
#include "common/kube/event.h"
#include "common/kube/names.h"
#include "common/kube/text.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

namespace {

constexpr std::string_view kComponent = "vc-controller-manager";
constexpr int kMaxEventsPerJob = 64;

}  // namespace

void JobController::SendNotes(JobEntry& entry) {
  if (entry.notes.empty()) return;
  const int64_t now_ms = absl::ToUnixMillis(context_.ApiNow());
  std::vector<Note> notes = std::move(entry.notes);
  entry.notes.clear();
  for (const Note& note : notes) {
    const kube::Event event{.api_version = kube::kJobApiVersion,
                            .kind = "Job",
                            .ns = entry.ns,
                            .name = entry.name,
                            .uid = entry.record.uid(),
                            .resource_version = entry.record.resource_version(),
                            .warning = note.warning,
                            .reason = note.reason,
                            .message = note.message,
                            .component = kComponent};
    const std::string series = kube::KeyOf(event);
    storage::v1::SentEvent* sent = nullptr;
    for (auto& earlier : *entry.record.mutable_events()) {
      if (earlier.key() == series) sent = &earlier;
    }
    const std::string name = kube::NameOf(event);
    entry.record_dirty = true;
    gateway::v1::Resource resource;
    resource.set_version("v1");
    resource.set_plural("events");
    if (sent == nullptr) {
      if (entry.record.events_size() >= kMaxEventsPerJob) entry.record.mutable_events()->DeleteSubrange(0, 1);
      sent = entry.record.add_events();
      sent->set_key(series);
      sent->set_count(1);
      sent->set_first_ms(now_ms);
      sent->set_last_sent_ms(now_ms);
      gateway::v1::WriteRequest request;
      *request.mutable_resource() = resource;
      request.set_namespace_(entry.ns);
      request.set_name(name);
      request.mutable_create()->set_body(kube::BodyOf(event, now_ms));
      context_.Write(entry.key, std::move(request), [](runtime::WriteOutcome) {});
      continue;
    }
    sent->set_count(sent->count() + 1);
    if (now_ms - sent->last_sent_ms() < absl::ToInt64Milliseconds(options_.event_interval)) continue;
    sent->set_last_sent_ms(now_ms);
    gateway::v1::GetRequest get;
    *get.mutable_resource() = resource;
    get.set_namespace_(entry.ns);
    get.set_name(name);
    context_.Get(entry.key, std::move(get),
                 [this, resource, name, key = entry.key, uid = entry.record.uid(), count = sent->count(),
                  now_ms](absl::StatusOr<gateway::v1::GetResponse> response) {
                   const JobEntry* live = Live(key, uid);
                   if (live == nullptr || !response.ok() || !response->has_object()) return;
                   gateway::v1::WriteRequest request;
                   *request.mutable_resource() = resource;
                   request.set_namespace_(live->ns);
                   request.set_name(name);
                   gateway::v1::Patch& patch = *request.mutable_patch();
                   patch.set_type(gateway::v1::Patch::TYPE_MERGE);
                   json::object body;
                   body["count"] = count;
                   body["lastTimestamp"] = kube::FormatTime(now_ms);
                   patch.set_body(ToText(body));
                   patch.set_uid(response->object().generic().meta().uid());
                   patch.set_resource_version(response->object().generic().meta().resource_version());
                   context_.Write(key, std::move(request), [](runtime::WriteOutcome) {});
                 });
  }
}

}  // namespace basalt::jobsvc
