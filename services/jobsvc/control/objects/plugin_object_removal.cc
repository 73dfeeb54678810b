// The removing half of PluginObjects.
#include <fmt/format.h>

#include <utility>

#include "common/kube/object_key.h"
#include "common/kube/object_meta.h"
#include "common/kube/requests.h"
#include "common/reconcile/effect.h"
#include "services/jobsvc/control/part_host.h"

namespace basalt::jobsvc {

using runtime::WriteOutcome;

namespace {

// Another object may have the name. That one may be ours all the same: the UID that we remember may be older.
constexpr EffectPolicy kObjectRemoval{.done = Meaning::kHeld,
                                      .already_exists = Meaning::kHeld,
                                      .not_found = Meaning::kHeld,
                                      .conflict = Meaning::kHeld,
                                      .invalid = Meaning::kHeld};

}  // namespace

void PluginObjects::RemoveAll(JobEntry& entry, PartHost& host) {
  entry.claims.StopAwaiting(entry, host);
  if (!made_.empty() && host.Waits(entry, effects_.retry())) return;
  for (const auto& [key, remembered] : made_.all()) {
    if (effects_.contains(key)) continue;
    if (const std::string uid = made_.UidOf(key); !uid.empty()) {
      Delete(entry, key, uid, host);
    } else {
      FindAndDelete(entry, key, host);
    }
  }
}

void PluginObjects::IsGone(const std::string& key) {
  made_.Erase(key);
  if (made_.empty()) effects_.retry().Succeed();
}

// Removes an object that may exist, and of which no more is known: a read shows whether it is ours.
void PluginObjects::FindAndDelete(JobEntry& entry, const std::string& key, PartHost& host) {
  const auto [plural, name] = kube::SplitKey(key);
  if (plural.empty() || !effects_.Begin(key)) return;
  host.Get(entry, kube::GetOf(MadeObjects::KindOf(plural), entry.ns, name),
           [&host, key](JobEntry& live, const absl::StatusOr<gateway::v1::GetResponse>& response) {
             PluginObjects& objects = live.plugin_objects;
             objects.effects_.Forget(key);
             const bool there = response.ok() && response->has_object();
             if (!live.job || live.newest_status.is_doubted() || MakesPods(live.job->status().phase())) {
               host.Wake(live);  // The object is wanted again, or may be.
             } else if (there && kube::IsOwnedBy(response->object().generic().meta(), live.record.uid())) {
               objects.Delete(live, key, response->object().generic().meta().uid(), host);
             } else if (there || AnswerOfRead(response) == Answer::kNotFound) {
               objects.IsGone(key);
               host.Wake(live);
             } else {
               host.TryAgain(live, objects.effects_.retry());
             }
           });
}

void PluginObjects::Delete(JobEntry& entry, const std::string& key, const std::string& object_uid, PartHost& host) {
  const auto [plural, name] = kube::SplitKey(key);
  if (plural.empty() || object_uid.empty() || !effects_.Begin(key)) return;
  // From here on the object may or may not exist, for us and, by the next status write, for the next owner: a job that
  // is resumed meanwhile must not take the object for made.
  made_.Doubt(key);
  auto request = kube::WriteOf(MadeObjects::KindOf(plural), entry.ns, name);
  request.mutable_delete_()->set_uid(object_uid);
  host.Write(entry, std::move(request), [&host, key](JobEntry& live, const WriteOutcome& outcome) {
    live.plugin_objects.Deleted(live, key, outcome, host);
  });
}

void PluginObjects::Deleted(JobEntry& entry, const std::string& key, const WriteOutcome& outcome, PartHost& host) {
  const Answer answer = AnswerOf(outcome);
  const Meaning meaning = effects_.End(key, answer, kObjectRemoval, host.Now(), host.context().random());
  if (answer == Answer::kDone || answer == Answer::kNotFound) IsGone(key);
  if (meaning == Meaning::kHeld) return host.Wake(entry);
  host.WakeAt(entry, effects_.retry().until());
  if (!runtime::ShouldReportToUser(outcome)) return;
  std::string message = fmt::format("{} cannot be deleted: {}", key, outcome.error.message());
  host.ReportProblem(entry, {.words = {"FailedDelete", std::move(message)}, .subject = key});
}

}  // namespace basalt::jobsvc
