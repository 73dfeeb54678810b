#include "services/pgsvc/control/group/group_writes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/kube/group_profile.h"
#include "common/kube/requests.h"
#include "common/obs/log.h"

namespace basalt::pgsvc {
namespace {

// Another group may have got the name meanwhile: the group has to be read.
constexpr EffectPolicy kCreate = {.already_exists = Meaning::kLook, .unknown = Meaning::kLook};
// The group of that UID may be gone, or replaced by another one of the name: the group has to be read.
constexpr EffectPolicy kOfUid = {.already_exists = Meaning::kLook,
                                 .not_found = Meaning::kLook,
                                 .conflict = Meaning::kLook,
                                 .unknown = Meaning::kLook};
// The pod is gone, or another one has its name. The watch will report that, so people need not know.
constexpr EffectPolicy kLink = {.not_found = Meaning::kTryAgain, .conflict = Meaning::kTryAgain};

const kube::v1::ObjectMeta& MetaOf(const kube::v1::Object& group) {
  return group.has_kai_pod_group() ? group.kai_pod_group().meta() : group.pod_group().meta();
}

}  // namespace

void GroupWrites::CarryOut(const GroupRef& group, GroupEntry& entry, GroupStep step) {
  if (step.kind == GroupStep::Kind::kNothing) return;  // Most passes end here, without a request.
  gateway::v1::WriteRequest request = kube::WriteOf(kind_, kube::NamespaceOf(group.scope), group.name);
  switch (step.kind) {
    case GroupStep::Kind::kNothing:
      break;
    case GroupStep::Kind::kCreate:
      request.mutable_create()->set_body(std::move(step.body));
      break;
    case GroupStep::Kind::kPatch:
      kube::SetMergePatch(std::move(step.body), step.uid, request);
      break;
    case GroupStep::Kind::kDelete:
      request.mutable_delete_()->set_uid(step.uid);
      request.mutable_delete_()->set_propagation_policy("Background");
      break;
  }
  entry.busy = true;
  entry.sent = std::exchange(step.decision, {});
  context_.Write(group.scope, std::move(request), [this, group, step = std::move(step)](runtime::WriteOutcome outcome) {
    OnWritten(group, step, std::move(outcome));
  });
}

void GroupWrites::OnWritten(const GroupRef& group, const GroupStep& step, runtime::WriteOutcome outcome) {
  GroupEntry* const entry = host_.FindEntry(group);
  if (entry == nullptr) return;
  entry->busy = false;
  const bool is_create = step.kind == GroupStep::Kind::kCreate;
  GroupAnswer answer{.meaning = MeaningOf(AnswerOf(outcome), is_create ? kCreate : kOfUid),
                     .outcome = std::move(outcome)};
  if (answer.meaning == Meaning::kSucceeded) {
    GroupDecision done = entry->TakeSent();
    if (is_create) done.uid = MetaOf(answer.outcome.object).uid();
    Note(group, *entry, std::move(done));
    if (!step.is_for_caller) {
      entry->retry.Succeed();
      entry->refusal.clear();
      if (is_create) entry->creates.Note(context_.ApiNow(), "");
      if (!step.state.empty()) entry->updates.Note(context_.ApiNow(), step.state);
      if (step.kind == GroupStep::Kind::kDelete) entry->creates = Pace();  // No other program has deleted it.
    }
  } else {
    // If the outcome is unknown, the read that follows decides whether the decision was carried out.
    const bool is_unknown = answer.outcome.kind == runtime::WriteOutcome::Kind::kUnknown;
    const GroupDecision sent = is_unknown ? GroupDecision() : entry->TakeSent();
    if (!step.is_for_caller && answer.meaning != Meaning::kLook)
      entry->retry.Fail(context_.ApiNow(), context_.random());
    answer.is_reported = answer.meaning == Meaning::kRefused && runtime::ShouldReportToUser(answer.outcome);
    if (answer.is_reported) {
      const std::string& why = answer.outcome.error.message();
      if (!step.is_for_caller) entry->refusal = why;
      Note(group, *entry, RefusalOf(sent, why));
      obs::LogWarning("pod group cannot be written", {{"group", group.name}, {"scope", group.scope}, {"why", why}});
    }
  }
  host_.Touch(group);
  host_.OnAnswer(group, *entry, step, answer);
  if (answer.meaning == Meaning::kLook) Refresh(group, *entry);
}

void GroupWrites::Note(const GroupRef& group, GroupEntry& entry, GroupDecision decision) {
  entry.record.Note(std::move(decision));
  host_.Publish(group);
}

void GroupWrites::Read(const GroupRef& group, GroupEntry& entry, gateway::v1::GetRequest request, OnRead done) {
  entry.busy = true;
  context_.Get(group.scope, std::move(request),
               [this, group, done = std::move(done)](const absl::StatusOr<gateway::v1::GetResponse>& response) {
                 GroupEntry* const waiting = host_.FindEntry(group);
                 if (waiting == nullptr) return;
                 waiting->busy = false;
                 host_.Touch(group);
                 done(*waiting, response);
               });
}

void GroupWrites::Refresh(const GroupRef& group, GroupEntry& entry) {
  Read(group, entry, kube::GetOf(kind_, kube::NamespaceOf(group.scope), group.name),
       [this, group, uid = KnownUid(group, entry)](GroupEntry& read,
                                                   const absl::StatusOr<gateway::v1::GetResponse>& response) {
         const Answer answer = AnswerOfRead(response);
         const kube::v1::Object* const found = answer == Answer::kDone ? &response->object() : nullptr;
         // The read is merged with the reports of the watch, so that no older state follows.
         if (found != nullptr && !host_.IsKeptElsewhere(*found))
           context_.MergeAnswer(group.scope, *found, /*gone=*/false);
         // A group that was made while the read was under way is not gone.
         if (answer == Answer::kNotFound && !uid.empty() && KnownUid(group, read) == uid) {
           context_.MergeAnswer(group.scope, LastSeen(group, read), /*gone=*/true);
         }
         if (GroupEntry* const now = host_.FindEntry(group); now != nullptr) host_.OnRead(group, *now, answer, found);
       });
}

std::string GroupWrites::KnownUid(const GroupRef& group, const GroupEntry& entry) const {
  if (const kube::v1::ObjectMeta* const meta = host_.FindMeta(group); meta != nullptr) return meta->uid();
  return entry.is_awaited ? entry.published_uid : "";
}

kube::v1::Object GroupWrites::LastSeen(const GroupRef& group, const GroupEntry& entry) const {
  kube::v1::Object last;
  const bool is_kai = kube::ProfileOf(group.scope) == kube::GroupProfile::kKai;
  kube::v1::ObjectMeta& meta =
      *(is_kai ? last.mutable_kai_pod_group()->mutable_meta() : last.mutable_pod_group()->mutable_meta());
  if (const kube::v1::ObjectMeta* const known = host_.FindMeta(group); known != nullptr) {
    meta = *known;
  } else {
    meta.set_namespace_(std::string(kube::NamespaceOf(group.scope)));
    meta.set_name(group.name);
    meta.set_uid(entry.published_uid);
  }
  return last;
}

void GroupWrites::LinkPods(const GroupRef& group, GroupEntry& entry) {
  ScopeLinks& scope = *host_.FindScopeLinks(group.scope);
  std::set<std::string> due = std::exchange(entry.links.due, {});
  while (!due.empty()) {
    const std::string uid = std::move(due.extract(due.begin()).value());
    if (entry.links.under_way.contains(uid)) {
      entry.links.due.insert(uid);  // Looked at again once the patch under way is answered.
      continue;
    }
    LinkStep step = host_.NextLink(group, entry, uid);
    if (step.kind == LinkStep::Kind::kNone) continue;
    if (step.kind == LinkStep::Kind::kLater) {
      entry.links.due.insert(uid);
      continue;
    }
    const absl::Time now = context_.ApiNow();
    if (step.link->retry.Blocks(now) || step.link->pace.Blocks(now, step.state)) {
      entry.links.due.insert(uid);
      host_.TouchAt(group, std::max(step.link->retry.until(), step.link->pace.Until(step.state)));
      continue;
    }
    if (scope.under_way >= ScopeLinks::kMostUnderWay) {
      entry.links.due.insert(uid);
      entry.links.due.merge(due);
      scope.waiting.insert(group.name);
      return;
    }
    SendLink(group, uid, std::move(step));
    entry.links.under_way.insert(uid);
    ++scope.under_way;
  }
}

void GroupWrites::TouchWaiting(const std::string& scope, ScopeLinks& links) {
  for (size_t room = ScopeLinks::kMostUnderWay - links.under_way; room > 0 && !links.waiting.empty(); --room) {
    host_.Touch({scope, std::move(links.waiting.extract(links.waiting.begin()).value())});
  }
}

void GroupWrites::SendLink(const GroupRef& group, const std::string& pod_uid, LinkStep step) {
  gateway::v1::WriteRequest request = kube::WriteOf(kube::kPods, step.pod->namespace_(), step.pod->name());
  kube::SetMergePatch(std::move(step.patch), pod_uid, request);
  context_.Write(group.scope, std::move(request),
                 [this, group, pod_uid, state = std::move(step.state)](const runtime::WriteOutcome& outcome) {
                   OnLinked(group, pod_uid, state, outcome);
                 });
}

void GroupWrites::OnLinked(const GroupRef& group, const std::string& pod_uid, const std::string& state,
                           const runtime::WriteOutcome& outcome) {
  ScopeLinks* const scope = host_.FindScopeLinks(group.scope);
  if (scope == nullptr) return;
  --scope->under_way;
  TouchWaiting(group.scope, *scope);
  GroupEntry* const entry = host_.FindEntry(group);
  if (entry == nullptr) return;
  entry->links.under_way.erase(pod_uid);
  host_.Touch(group);
  PodLink* const link = host_.FindLink(group, pod_uid);
  if (link == nullptr) return;
  const Meaning meaning = MeaningOf(AnswerOf(outcome), kLink);
  if (meaning == Meaning::kSucceeded) {
    link->retry.Succeed();
    link->refusal.clear();
    link->pace.Note(context_.ApiNow(), state);
  } else {
    entry->links.due.insert(pod_uid);
    link->retry.Fail(context_.ApiNow(), context_.random());
    if (meaning == Meaning::kRefused && runtime::ShouldReportToUser(outcome)) link->refusal = outcome.error.message();
  }
  host_.OnLinked(group, *entry, pod_uid, *link, meaning);
}

}  // namespace basalt::pgsvc
