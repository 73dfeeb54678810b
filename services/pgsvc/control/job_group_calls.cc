// What jobsvc asks of pgsvc about the group of a job: one call about a group after the other, each with one attempt.
#include <fmt/format.h>

#include <utility>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/object_key.h"
#include "common/kube/resources/pod_group.h"
#include "services/pgsvc/control/group_requests.h"
#include "services/pgsvc/control/pod_group_controller.h"
#include "services/pgsvc/core/ensure.h"

namespace basalt::pgsvc {
namespace {

// A call that has waited so long for its turn is not begun: whoever asked is about to give up, and asks again.
constexpr absl::Duration kMostWait = absl::Seconds(5);
// Calls about one group that wait. Its job makes one at a time; whoever asks faster than the API server answers is
// told to ask again.
constexpr size_t kMostWaiters = 32;

absl::Status AskAgain(std::string_view key, std::string_view why) {
  return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("pod group {}: {}", key, why));
}

// A refusal that no repetition will change: the caller's fields are wrong, or a right is missing.
bool IsFinal(const gateway::v1::KubeError& error) {
  return error.code() == 400 || error.code() == 403 || error.code() == 422;
}

}  // namespace

absl::Status PodGroupController::CheckCall(const std::string& ns, const std::string& name,
                                           const std::string& job_uid) const {
  if (ns.empty() || name.empty() || job_uid.empty()) return Invalid("namespace, name and job_uid are required");
  const std::string key = kube::ObjectKey(ns, name);
  if (!context_.IsReady(SlotOf(key))) {
    return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("the slot of {} is not ready here", key));
  }
  const Group* const group = groups_.Find(key);
  if (group == nullptr || group->waiters.size() < kMostWaiters) return absl::OkStatus();
  return AskAgain(key, fmt::format("{} calls about it wait already", kMostWaiters));
}

void PodGroupController::Wait(const std::string& key, Waiter waiter) {
  Group& group = groups_.FindOrMake(key);
  group.waiters.push_back(std::move(waiter));
  ServeWaiters(key, group);
  if (!group.waiters.empty()) context_.WakeAt(key, context_.ApiNow() + kMostWait + absl::Milliseconds(1));
}

void PodGroupController::EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request,
                                        rpc::Done<podgroup::v1::EnsurePodGroupResponse> done) {
  const absl::Status check = CheckCall(request.namespace_(), request.name(), request.job_uid());
  if (!check.ok()) return done(check);
  const std::string key = kube::ObjectKey(request.namespace_(), request.name());
  const absl::Time until = context_.loop().Now() + kMostWait;
  Wait(key, Ensure{.request = std::move(request), .done = std::move(done), .until = until});
}

void PodGroupController::DeletePodGroup(podgroup::v1::DeletePodGroupRequest request,
                                        rpc::Done<podgroup::v1::DeletePodGroupResponse> done) {
  const absl::Status check = CheckCall(request.namespace_(), request.name(), request.job_uid());
  if (!check.ok()) return done(check);
  if (request.uid().empty()) return done(Invalid("uid is required"));
  const std::string key = kube::ObjectKey(request.namespace_(), request.name());
  const absl::Time until = context_.loop().Now() + kMostWait;
  Wait(key, Deletion{.request = std::move(request), .done = std::move(done), .until = until});
}

// The first waiter may be what a write or read is under way for: its outcome answers it.
void PodGroupController::RefuseLate(const std::string& key, Group& group) {
  const absl::Time now = context_.loop().Now();
  std::deque<Waiter> late;
  for (size_t i = group.busy ? 1 : 0; i < group.waiters.size();) {
    const absl::Time until = std::visit([](const auto& call) { return call.until; }, group.waiters[i]);
    if (now <= until) {
      ++i;
      continue;
    }
    late.push_back(std::move(group.waiters[i]));
    group.waiters.erase(group.waiters.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (Waiter& waiter : late) {
    std::visit([&key](auto& call) { call.done(AskAgain(key, "the call has waited too long for its turn")); }, waiter);
  }
}

void PodGroupController::ServeWaiters(const std::string& key, Group& group) {
  RefuseLate(key, group);
  while (!group.waiters.empty() && !group.busy) {
    Waiter& first = group.waiters.front();
    if (auto* deletion = std::get_if<Deletion>(&first)) {
      ServeDeletion(key, group, *deletion);
    } else {
      ServeEnsure(key, group, std::get<Ensure>(first).request);
    }
  }
}

void PodGroupController::ServeEnsure(const std::string& key, Group& group,
                                     const podgroup::v1::EnsurePodGroupRequest& request) {
  switch (NextEnsureStep(request, group.observed.get())) {
    case EnsureStep::kAnswer: {
      podgroup::v1::EnsurePodGroupResponse response;
      *response.mutable_pod_group() = *group.observed;
      return Finish(group, std::move(response));
    }
    case EnsureStep::kForeign:
      Note(key, group, ForeignFor(request, *group.observed));
      return Refuse(group,
                    MakeStatus(absl::StatusCode::kAlreadyExists,
                               fmt::format("pod group {} belongs to another owner; delete it or rename the job", key)));
    case EnsureStep::kWait:
      return Refuse(group, MakeStatus(absl::StatusCode::kFailedPrecondition,
                                      fmt::format("pod group {} of an older version is still being deleted", key)));
    case EnsureStep::kReplace:
      return SendForWaiter(key, group, GroupDeletion(key, group.observed->meta().uid()),
                           ReplacementFor(request, *group.observed));
    case EnsureStep::kPatch:
      return SendForWaiter(
          key, group,
          GroupPatch(key, group.observed->meta().uid(), kube::PodGroupPatch(group.observed->spec(), request.spec())),
          UpdateFor(request, *group.observed));
    case EnsureStep::kCreate: {
      gateway::v1::WriteRequest write = GroupWrite(key);
      write.mutable_create()->set_body(kube::PodGroupBody(request));
      return SendForWaiter(key, group, std::move(write), CreationFor(request));
    }
  }
}

void PodGroupController::ServeDeletion(const std::string& key, Group& group, Deletion& deletion) {
  podgroup::v1::DeletePodGroupResponse response;
  switch (NextDeleteStep(deletion.request, group.observed.get(), deletion.was_read)) {
    case DeleteStep::kRead:
      deletion.asked = Deletion::Asked::kRead;
      return Refresh(key);
    case DeleteStep::kDelete:
      deletion.asked = Deletion::Asked::kDeletion;
      return SendForWaiter(key, group, GroupDeletion(key, deletion.request.uid()), DeletionFor(deletion.request));
    case DeleteStep::kGoing:
      *response.mutable_pod_group() = *group.observed;
      return Finish(group, std::move(response));
    case DeleteStep::kGone:
      response.set_gone(true);
      return Finish(group, std::move(response));
    case DeleteStep::kForeign:
      return Refuse(group, MakeStatus(absl::StatusCode::kFailedPrecondition,
                                      fmt::format("pod group {} belongs to another owner", key)));
  }
}

void PodGroupController::Finish(Group& group, podgroup::v1::EnsurePodGroupResponse answer) {
  Ensure call = std::get<Ensure>(std::move(group.waiters.front()));
  group.waiters.pop_front();
  call.done(std::move(answer));
}

void PodGroupController::Finish(Group& group, podgroup::v1::DeletePodGroupResponse answer) {
  Deletion call = std::get<Deletion>(std::move(group.waiters.front()));
  group.waiters.pop_front();
  call.done(std::move(answer));
}

void PodGroupController::Refuse(Group& group, const absl::Status& why) {
  Waiter waiter = std::move(group.waiters.front());
  group.waiters.pop_front();
  std::visit([&why](auto& call) { call.done(why); }, waiter);
}

void PodGroupController::SendForWaiter(const std::string& key, Group& group, gateway::v1::WriteRequest request,
                                       GroupDecision decision) {
  group.busy = true;
  group.sent = std::move(decision);
  const bool created = request.has_create();
  context_.Write(key, std::move(request), [this, key, created](runtime::WriteOutcome outcome) {
    OnGroupWritten(key, created, std::move(outcome));
  });
}

void PodGroupController::OnGroupWritten(const std::string& key, bool created, runtime::WriteOutcome outcome) {
  Group* group = groups_.Find(key);
  if (group == nullptr) return;
  group->busy = false;
  using Kind = runtime::WriteOutcome::Kind;
  if (outcome.kind == Kind::kDone) {
    GroupDecision sent = TakeSent(*group);
    if (created) sent.uid = outcome.object.pod_group().meta().uid();
    Note(key, *group, std::move(sent));
    if (!group->waiters.empty() && std::holds_alternative<Deletion>(group->waiters.front())) {
      podgroup::v1::DeletePodGroupResponse response;
      response.set_gone(outcome.gone);
      if (outcome.object.has_pod_group()) response.mutable_pod_group()->Swap(outcome.object.mutable_pod_group());
      Finish(*group, std::move(response));
    }
    ServeWaiters(key, *group);
    return;
  }
  // A create that is refused with another 404 or 409 (no such namespace, a conflict of a quota) found no group.
  const bool stale =
      created ? runtime::IsNameTaken(outcome)
              : outcome.kind == Kind::kRefused && (outcome.error.code() == 404 || outcome.error.code() == 409);
  if (outcome.kind == Kind::kUnknown) return Refresh(key);
  const GroupDecision sent = TakeSent(*group);
  if (stale) return Refresh(key);
  if (runtime::ShouldReportToUser(outcome)) Note(key, *group, RefusalOf(sent, outcome.error.message()));
  if (group->waiters.empty()) return;
  if (outcome.kind == Kind::kRefused && IsFinal(outcome.error)) {
    Refuse(*group, Invalid(fmt::format("pod group {}: {}", key, outcome.error.message())));
  } else {
    Refuse(*group, AskAgain(key, outcome.kind == Kind::kRefused ? outcome.error.message() : outcome.status.ToString()));
  }
  ServeWaiters(key, *group);
}

// One attempt a request: the caller asks again, so that two writers cannot make this spin.
void PodGroupController::AnswerFirstCall(const std::string& key, Group& group, bool known) {
  if (group.waiters.empty()) return;
  bool is_again = false;
  if (auto* deletion = std::get_if<Deletion>(&group.waiters.front())) {
    // The read was another's, and may be older than the call.
    if (deletion->asked == Deletion::Asked::kNothing) return;
    deletion->was_read = known;
    const DeleteStep step = NextDeleteStep(deletion->request, group.observed.get(), deletion->was_read);
    is_again = !known || (deletion->asked == Deletion::Asked::kDeletion && step == DeleteStep::kDelete);
  } else {
    const EnsureStep step = NextEnsureStep(std::get<Ensure>(group.waiters.front()).request, group.observed.get());
    is_again = step == EnsureStep::kCreate || step == EnsureStep::kPatch || step == EnsureStep::kReplace;
  }
  if (!is_again) return;
  Refuse(group, known ? MakeStatus(absl::StatusCode::kUnavailable, fmt::format("pod group {} changed meanwhile", key))
                      : AskAgain(key, "it cannot be read"));
}

}  // namespace basalt::pgsvc
