#include "services/jobsvc/control/group/group_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "services/jobsvc/control/job_entry.h"
#include "services/jobsvc/control/part_host.h"
#include "services/jobsvc/core/explain/explain.h"

namespace basalt::jobsvc {

namespace {

// Returns the group in the job's record. Null if the record does not have it.
const storage::v1::PodGroupRecord* RecordOf(const JobEntry& entry, std::string_view name) {
  for (const auto& known : entry.record.pod_groups()) {
    if (known.name() == name) return &known;
  }
  return nullptr;
}

// W5, W30: the event depends on the UID of the group, whatever its version. A stale group proves nothing about this
// run.
std::optional<JobEvent> UnknownEvent(const JobEntry& entry, const GroupView& group, int64_t now_ms) {
  if (!group.present || group.stale || group.phase != "Unknown") return std::nullopt;
  const storage::v1::PodGroupRecord* const known = RecordOf(entry, group.name);
  const bool is_known = known != nullptr && known->uid() == group.uid;
  if (is_known && known->phase() == "Unknown") return std::nullopt;
  JobEvent event;
  event.kind = kEventUnknown;
  // A group that was observed before becomes Unknown now. For any other, the newest condition has the time, wherever in
  // the list it stands.
  if (!is_known) {
    for (const auto& condition : entry.groups.at(group.name).conditions()) {
      event.time_ms = std::max(event.time_ms, std::min(condition.last_transition_ms(), now_ms));
    }
  }
  event.time_ms = event.stated_ms = LatestTimeOf(event.time_ms, now_ms);
  return event;
}

}  // namespace

void GroupChanges::Apply(JobEntry& entry, PartHost& host, std::vector<JobEvent>& events) {
  if (!entry.groups_dirty) return;
  entry.groups_dirty = false;
  const GroupView& group = entry.group_sync.View(entry);
  if (auto event = UnknownEvent(entry, group, absl::ToUnixMillis(host.Now()))) events.push_back(*std::move(event));
  if (group.present && !group.stale) Quote(entry, entry.groups.at(group.name), host);
  entry.record.clear_pod_groups();
  for (const auto& [name, observed] : entry.groups) {
    auto* record = entry.record.add_pod_groups();
    record->set_name(name);
    record->set_uid(observed.meta().uid());
    record->set_resource_version(observed.meta().resource_version());
    record->set_phase(observed.phase());
  }
  entry.record_dirty = true;
}

void GroupChanges::Quote(JobEntry& entry, const kube::v1::PodGroup& group, PartHost& host) {
  const kube::v1::PodGroupCondition* const words = SchedulersWords(group);
  std::string text;
  if (words != nullptr) {
    text = words->type();
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!words->message().empty()) text += fmt::format(": {}", words->message());
  }
  if (text == quoted_) return;
  // Numbers in the message change from round to round.
  const auto type_of = [](std::string_view quoted) { return quoted.substr(0, quoted.find(':')); };
  const absl::Time now = host.Now();
  if (type_of(text) == type_of(quoted_) && now < quoted_at_ + host.options().event_interval) return;
  quoted_at_ = now;
  quoted_ = text;
  if (!text.empty()) entry.pending_events.push_back({true, "PodGroupPending", std::move(text)});
}

}  // namespace basalt::jobsvc
