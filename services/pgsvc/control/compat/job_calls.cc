#include "services/pgsvc/control/compat/job_calls.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/object_key.h"
#include "common/kube/resources/pod_group.h"
#include "services/pgsvc/core/ensure.h"

namespace basalt::pgsvc {
namespace {

// A call that has waited longer for its turn does not begin: its caller is about to give up, and calls again.
constexpr absl::Duration kMostWait = absl::Seconds(5);
// The limit of waiting calls about one group. A job makes one call at a time; a caller that is faster than the API
// server has to call again.
constexpr size_t kMostWaiting = 32;

absl::Status CallAgain(const GroupRef& ref, std::string_view why) {
  return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("pod group {}: {}", ref.scope, why));
}

// Takes the first call, whose kind is `Call`, out of the queue.
template <typename Call>
Call TakeFirst(CompatGroup& group) {
  Call call = std::get<Call>(std::move(group.calls.front()));
  group.calls.pop_front();
  return call;
}

void RefuseFirst(CompatGroup& group, const absl::Status& why) {
  JobCall call = std::move(group.calls.front());
  group.calls.pop_front();
  std::visit([&why](auto& one) { one.done(why); }, call);
}

}  // namespace

absl::Status JobCalls::Check(const std::string& ns, const std::string& name, const std::string& job_uid,
                             const CompatGroup* group) const {
  if (ns.empty() || name.empty() || job_uid.empty()) return Invalid("namespace, name and job_uid are required");
  const std::string key = kube::ObjectKey(ns, name);
  if (!context_.IsReady(SlotOf(key))) {
    return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("the slot of {} is not ready here", key));
  }
  if (group == nullptr || group->calls.size() < kMostWaiting) return absl::OkStatus();
  return CallAgain({.scope = key, .name = name}, fmt::format("{} calls about it wait already", kMostWaiting));
}

void JobCalls::Wait(const GroupRef& ref, CompatGroup& group, JobCall call) {
  std::visit([this](auto& one) { one.until = context_.loop().Now() + kMostWait; }, call);
  group.calls.push_back(std::move(call));
  Serve(ref, group);
  if (!group.calls.empty()) context_.WakeAt(ref.scope, context_.ApiNow() + kMostWait + absl::Milliseconds(1));
}

// Keeps the first call while a write or read is under way, whose outcome may answer that call.
void JobCalls::RefuseLate(const GroupRef& ref, CompatGroup& group) {
  const absl::Time now = context_.loop().Now();
  std::deque<JobCall> late;
  for (size_t i = group.busy ? 1 : 0; i < group.calls.size();) {
    if (now <= std::visit([](const auto& call) { return call.until; }, group.calls[i])) {
      ++i;
      continue;
    }
    late.push_back(std::move(group.calls[i]));
    group.calls.erase(group.calls.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (JobCall& call : late) {
    std::visit([&ref](auto& one) { one.done(CallAgain(ref, "the call has waited too long for its turn")); }, call);
  }
}

void JobCalls::RefuseAll(CompatGroup& group, const absl::Status& why) {
  while (!group.calls.empty()) RefuseFirst(group, why);
}

void JobCalls::Serve(const GroupRef& ref, CompatGroup& group) {
  RefuseLate(ref, group);
  while (!group.calls.empty() && !group.busy) {
    JobCall& first = group.calls.front();
    if (auto* const deletion = std::get_if<DeleteCall>(&first)) {
      ServeDeletion(ref, group, *deletion);
    } else {
      ServeEnsure(ref, group, std::get<EnsureCall>(first).request);
    }
  }
}

void JobCalls::Send(const GroupRef& ref, CompatGroup& group, GroupStep step) {
  step.is_for_caller = true;
  writes_.CarryOut(ref, group, std::move(step));
}

void JobCalls::ServeEnsure(const GroupRef& ref, CompatGroup& group,
                           const podgroup::v1::EnsurePodGroupRequest& request) {
  const kube::v1::PodGroup* const observed = group.observed.get();
  switch (NextEnsureStep(request, observed)) {
    case EnsureStep::kAnswer: {
      podgroup::v1::EnsurePodGroupResponse response;
      *response.mutable_pod_group() = *observed;
      return TakeFirst<EnsureCall>(group).done(std::move(response));
    }
    case EnsureStep::kForeign:
      writes_.Note(ref, group, ForeignFor(request, *observed));
      return RefuseFirst(
          group,
          MakeStatus(absl::StatusCode::kAlreadyExists,
                     fmt::format("pod group {} belongs to another owner; delete it or rename the job", ref.scope)));
    case EnsureStep::kWait:
      return RefuseFirst(group,
                         MakeStatus(absl::StatusCode::kFailedPrecondition,
                                    fmt::format("pod group {} of an older version is still being deleted", ref.scope)));
    case EnsureStep::kReplace:
      return Send(ref, group,
                  {.kind = GroupStep::Kind::kDelete,
                   .uid = observed->meta().uid(),
                   .decision = ReplacementFor(request, *observed)});
    case EnsureStep::kPatch:
      return Send(ref, group,
                  {.kind = GroupStep::Kind::kPatch,
                   .uid = observed->meta().uid(),
                   .body = kube::PodGroupPatch(observed->spec(), request.spec()),
                   .decision = UpdateFor(request, *observed)});
    case EnsureStep::kCreate:
      return Send(
          ref, group,
          {.kind = GroupStep::Kind::kCreate, .body = kube::PodGroupBody(request), .decision = CreationFor(request)});
  }
}

void JobCalls::ServeDeletion(const GroupRef& ref, CompatGroup& group, DeleteCall& call) {
  podgroup::v1::DeletePodGroupResponse response;
  switch (NextDeleteStep(call.request, group.observed.get(), call.was_read)) {
    case DeleteStep::kRead:
      call.asked = DeleteCall::Asked::kRead;
      return writes_.Refresh(ref, group);
    case DeleteStep::kDelete:
      call.asked = DeleteCall::Asked::kDeletion;
      return Send(ref, group,
                  {.kind = GroupStep::Kind::kDelete, .uid = call.request.uid(), .decision = DeletionFor(call.request)});
    case DeleteStep::kGoing:
      *response.mutable_pod_group() = *group.observed;
      return TakeFirst<DeleteCall>(group).done(std::move(response));
    case DeleteStep::kGone:
      response.set_gone(true);
      return TakeFirst<DeleteCall>(group).done(std::move(response));
    case DeleteStep::kForeign:
      return RefuseFirst(group, MakeStatus(absl::StatusCode::kFailedPrecondition,
                                           fmt::format("pod group {} belongs to another owner", ref.scope)));
  }
}

void JobCalls::OnAnswer(const GroupRef& ref, CompatGroup& group, GroupAnswer& answer) {
  runtime::WriteOutcome& outcome = answer.outcome;
  // For kLook the group is read first, and the read answers the call.
  if (group.calls.empty() || answer.meaning == Meaning::kLook) return;
  if (answer.meaning != Meaning::kSucceeded) {
    const bool is_refused = outcome.kind == runtime::WriteOutcome::Kind::kRefused;
    const std::string why = is_refused ? outcome.error.message() : outcome.status.ToString();
    const bool is_final = is_refused && IsLastingRefusal(outcome.error.code());
    RefuseFirst(group, is_final ? Invalid(fmt::format("pod group {}: {}", ref.scope, why)) : CallAgain(ref, why));
  } else if (std::holds_alternative<DeleteCall>(group.calls.front())) {
    podgroup::v1::DeletePodGroupResponse response;
    response.set_gone(outcome.gone);
    if (outcome.object.has_pod_group()) response.mutable_pod_group()->Swap(outcome.object.mutable_pod_group());
    TakeFirst<DeleteCall>(group).done(std::move(response));
  }
  Serve(ref, group);
}

// Each call has one attempt, and its caller calls again: two programs that write the group cannot make this loop for
// ever.
void JobCalls::OnRead(const GroupRef& ref, CompatGroup& group, bool is_known) {
  if (group.calls.empty()) return;
  bool is_again = false;
  if (auto* const deletion = std::get_if<DeleteCall>(&group.calls.front())) {
    // The read was for something else, and may be older than the call.
    if (deletion->asked == DeleteCall::Asked::kNothing) return Serve(ref, group);
    deletion->was_read = is_known;
    const DeleteStep step = NextDeleteStep(deletion->request, group.observed.get(), deletion->was_read);
    is_again = !is_known || (deletion->asked == DeleteCall::Asked::kDeletion && step == DeleteStep::kDelete);
  } else {
    const EnsureStep step = NextEnsureStep(std::get<EnsureCall>(group.calls.front()).request, group.observed.get());
    is_again = step == EnsureStep::kCreate || step == EnsureStep::kPatch || step == EnsureStep::kReplace;
  }
  if (is_again) {
    RefuseFirst(group, is_known ? MakeStatus(absl::StatusCode::kUnavailable,
                                             fmt::format("pod group {} changed meanwhile", ref.scope))
                                : CallAgain(ref, "it cannot be read"));
  }
  Serve(ref, group);
}

}  // namespace basalt::pgsvc
