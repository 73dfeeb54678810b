#include "services/pgsvc/api/pod_group_api.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/kinds.h"
#include "common/kube/object_key.h"
#include "common/kube/requests.h"
#include "common/kube/timestamp.h"
#include "common/rpc/error_details.h"
#include "common/rpc/list_part.h"
#include "common/runtime/gather_workers.h"
#include "services/pgsvc/api/grouping_messages.h"
#include "services/pgsvc/api/pod_group_list.h"
#include "services/pgsvc/api/try_grouping.h"
#include "services/pgsvc/core/grouping/volcano_group.h"
#include "services/pgsvc/core/kai/group_patch.h"

namespace basalt::pgsvc {

using podgroup::v1::ListPartResponse;
using podgroup::v1::PodGroupHistoryEntry;
using storage::v1::PodGroupHistoryRecord;

static_assert(int{PodGroupHistoryEntry::DECISION_CREATED} == int{PodGroupHistoryRecord::DECISION_CREATED});
static_assert(int{PodGroupHistoryEntry::DECISION_FOREIGN} == int{PodGroupHistoryRecord::DECISION_FOREIGN});

namespace {

PodGroupHistoryEntry ToMessage(PodGroupHistoryRecord&& record) {
  PodGroupHistoryEntry entry;
  entry.set_sequence(record.sequence());
  entry.set_allocated_time(kube::ToTimestamp(record.time_ms()).release());
  entry.set_decision(static_cast<PodGroupHistoryEntry::Decision>(record.decision()));
  entry.set_uid(record.uid());
  entry.set_asked_by(record.asked_by());
  entry.set_version(record.version());
  entry.mutable_fields()->Swap(record.mutable_fields());
  entry.set_message(record.message());
  return entry;
}

bool Matches(const podgroup::v1::ListPodGroupsRequest& request, const podgroup::v1::PodGroup& group) {
  return (request.namespace_().empty() || group.object().meta().namespace_() == request.namespace_()) &&
         (request.queue().empty() || group.object().spec().queue() == request.queue());
}

podgroup::v1::ExplainGroupingResponse ToMessage(const std::string& ns, const std::string& name,
                                                const KaiGroups::Explanation& explanation) {
  podgroup::v1::ExplainGroupingResponse message;
  message.mutable_pod()->set_namespace_(ns);
  message.mutable_pod()->set_name(name);
  Fill(explanation.found, *message.mutable_pod());
  for (const std::string& owner : explanation.owners) message.add_owners(owner);
  for (const std::string& fact : explanation.waits_for) message.add_waits_for(fact);
  for (const std::string& owner : explanation.unreadable) message.add_unreadable(owner);
  for (const std::string& field : explanation.differing_fields) message.add_differing_fields(field);
  message.set_is_there(explanation.is_there);
  if (explanation.plan) {
    podgroup::v1::TriedGroup& group = *message.mutable_group();
    group.set_namespace_(ns);
    group.set_name(explanation.plan->name);
    group.set_manifest(ToText(NewKaiGroup(*explanation.plan)));
    AddReasons(*explanation.plan, group);
    *message.mutable_members() = explanation.members;
    message.set_least_pods(LeastPodsForKai(*explanation.plan));
  }
  for (const std::string& note : explanation.notes) message.add_notes(note);
  return message;
}

// What KAI's scheduler says of the group in its status (pod-grouper 9.1), or why that is not known.
void AddUnschedulable(const absl::StatusOr<gateway::v1::GetResponse>& answer,
                      podgroup::v1::ExplainGroupingResponse& message) {
  if (!answer.ok() || !answer->has_object()) {
    message.add_notes("what the scheduler says of the group cannot be read now");
    return;
  }
  for (std::string& reason : UnschedulableReasons(answer->object().kai_pod_group())) {
    message.add_unschedulable(std::move(reason));
  }
}

absl::Status NotReady(const std::string& key) {
  return MakeStatus(
      absl::StatusCode::kUnavailable,
      fmt::format("pod group {}: this replica does not have its slot, or is still starting; try again", key));
}

absl::Status NotFound(const std::string& key, std::string_view message) {
  return rpc::WithResource(MakeStatus(absl::StatusCode::kNotFound, message), kube::kPodGroups, key);
}

}  // namespace

std::string KeyOf(std::string_view ns, std::string_view name) {
  return kube::ObjectKey(ns.empty() ? std::string_view("default") : ns, name);
}

std::string KaiKeyOf(std::string_view ns) { return std::string(ns.empty() ? "default" : ns); }

void PodGroupApi::Get(podgroup::v1::GetPodGroupRequest request, rpc::Done<podgroup::v1::PodGroup> done) {
  const std::string key = KeyOf(request.namespace_(), request.name());
  workers_.OnWorkerOf(SlotOf(key), [key, done = std::move(done)](PodGroupController& controller) mutable {
    if (!controller.context().IsReady(SlotOf(key))) return done(NotReady(key));
    std::optional<podgroup::v1::PodGroup> group = controller.Show(key);
    if (!group) return done(NotFound(key, fmt::format("pod group {} does not exist", key)));
    done(*std::move(group));
  });
}

void PodGroupApi::ListPart(podgroup::v1::ListPartRequest asked, rpc::Done<ListPartResponse> done) {
  const size_t size = rpc::PageSizeOf(asked.request().page_size());
  const SlotSet slots = SlotSet::FromBytes(asked.slots());
  const auto list = [request = std::move(*asked.mutable_request()), size, slots](PodGroupController& controller) {
    const auto add = [&](const std::string& key, const auto&, ListPartResponse& part) {
      if (!slots.Contains(SlotOf(key))) return;
      std::optional<podgroup::v1::PodGroup> group = controller.Show(key);
      if (group && Matches(request, *group)) *part.add_pod_groups() = *std::move(group);
    };
    return rpc::MakePart<PodGroupList>(controller.groups(), request.page_token(), size, add);
  };
  auto merge = [size, done = std::move(done)](absl::StatusOr<std::vector<ListPartResponse>> parts) mutable {
    if (!parts.ok()) return done(parts.status());
    done(rpc::MergeParts<PodGroupList>(*std::move(parts), size));
  };
  runtime::GatherWorkers<ListPartResponse>(workers_, slots, list, std::move(merge));
}

void PodGroupApi::History(podgroup::v1::GetPodGroupHistoryRequest request,
                          rpc::Done<podgroup::v1::PodGroupHistory> done) {
  const std::string key = KeyOf(request.namespace_(), request.name());
  workers_.OnWorkerOf(SlotOf(key), [key, done = std::move(done)](PodGroupController& controller) mutable {
    if (!controller.context().IsReady(SlotOf(key))) return done(NotReady(key));
    auto told = controller.records().Read(key);
    if (!told.ok()) return done(told.status());
    if (!*told) return done(NotFound(key, fmt::format("there is no history of a pod group {}", key)));
    podgroup::v1::PodGroupHistory history;
    history.set_allocated_gone_time(kube::ToTimestamp((*told)->gone_ms).release());
    for (PodGroupHistoryRecord& record : (*told)->entries) *history.add_entries() = ToMessage(std::move(record));
    done(std::move(history));
  });
}

void PodGroupApi::ExplainGrouping(podgroup::v1::ExplainGroupingRequest request,
                                  rpc::Done<podgroup::v1::ExplainGroupingResponse> done) {
  const std::string ns = KaiKeyOf(request.namespace_());
  workers_.OnWorkerOf(
      SlotOf(ns), [ns, name = request.name(), done = std::move(done)](PodGroupController& controller) mutable {
        if (!controller.context().IsReady(SlotOf(ns))) return done(NotReady(ns));
        const auto explanation = controller.kai_groups().Explain(ns, name);
        if (!explanation) {
          const std::string why =
              fmt::format("there is no pod {}/{} that a scheduler of KAI's places, as far as is known", ns, name);
          return done(rpc::WithResource(MakeStatus(absl::StatusCode::kNotFound, why), kube::kPods, KeyOf(ns, name)));
        }
        podgroup::v1::ExplainGroupingResponse message = ToMessage(ns, name, *explanation);
        if (!explanation->is_there) return done(std::move(message));
        // The scheduler's status is followed by nobody: it changes in each of its cycles.
        controller.context().GetForCaller(ns, kube::GetOf(kube::kKaiPodGroups, ns, explanation->found->grouping.name),
                                          [message = std::move(message), done = std::move(done)](
                                              const absl::StatusOr<gateway::v1::GetResponse>& answer) mutable {
                                            AddUnschedulable(answer, message);
                                            done(std::move(message));
                                          });
      });
}

void PodGroupApi::ListGroupingRules(podgroup::v1::ListGroupingRulesRequest,
                                    rpc::Done<podgroup::v1::ListGroupingRulesResponse> done) {
  done(pgsvc::ListGroupingRules(rules_));
}

void PodGroupApi::TryGrouping(podgroup::v1::TryGroupingRequest request,
                              rpc::Done<podgroup::v1::TryGroupingResponse> done) {
  done(pgsvc::TryGrouping(request, rules_));
}

}  // namespace basalt::pgsvc
