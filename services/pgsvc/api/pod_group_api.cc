#include "services/pgsvc/api/pod_group_api.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/group_profile.h"
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
#include "services/pgsvc/core/form/kai_status.h"
#include "services/pgsvc/core/grouping/volcano_group.h"

namespace basalt::pgsvc {

using podgroup::v1::ListPartResponse;
using podgroup::v1::PodGroupHistoryEntry;
using storage::v1::PodGroupHistoryRecord;

static_assert(int{PodGroupHistoryEntry::DECISION_CREATED} == int{PodGroupHistoryRecord::DECISION_CREATED});
static_assert(int{PodGroupHistoryEntry::DECISION_FOREIGN} == int{PodGroupHistoryRecord::DECISION_FOREIGN});
static_assert(int{podgroup::v1::PROFILE_KAI} == static_cast<int>(kube::GroupProfile::kKai));

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

std::string_view OrDefault(std::string_view ns) { return ns.empty() ? std::string_view("default") : ns; }

kube::GroupProfile ProfileOf(podgroup::v1::Profile profile) {
  return profile == podgroup::v1::PROFILE_UNSPECIFIED ? kube::GroupProfile::kCompat
                                                      : static_cast<kube::GroupProfile>(profile);
}

// Returns the key under which the requested group is published.
template <typename Request>
std::string ShownKeyOf(const Request& request) {
  return kube::ShownGroupKey(OrDefault(request.namespace_()), request.name(), ProfileOf(request.profile()));
}

// Returns "namespace/name", for people.
std::string NameOf(std::string_view shown_key) {
  const auto [ns, name] = kube::SplitKey(shown_key);
  return kube::ObjectKey(ns, name);
}

// Returns the page of groups after the token, which is the list key of a group.
ListPartResponse PartOf(const GroupScopes& groups, const podgroup::v1::ListPodGroupsRequest& request, size_t size,
                        const SlotSet& slots) {
  ListPartResponse part;
  kube::KeyParts first = PodGroupList::NameIn(request.page_token());
  const std::string& wanted = request.namespace_();
  if (!wanted.empty() && first.ns != wanted) first = {wanted, {}};
  const auto visit = [&](const std::string& key, const std::string& group_name) {
    if (!wanted.empty() && kube::NamespaceOf(key) != wanted) return false;
    if (!slots.Contains(SlotOf(key))) return true;
    if (!request.pod().empty() && groups.GroupOf(key, request.pod()) != group_name) return true;
    std::optional<podgroup::v1::PodGroup> group = groups.Show(key, group_name);
    if (!group || !Matches(request, *group) || PodGroupList::KeyOf(*group) <= request.page_token()) return true;
    if (static_cast<size_t>(part.pod_groups_size()) == size) {
      part.set_more(true);
      return false;
    }
    *part.add_pod_groups() = *std::move(group);
    return true;
  };
  groups.VisitFrom(first.ns, first.name, visit);
  return part;
}

podgroup::v1::ExplainGroupingResponse ToMessage(const std::string& ns, const std::string& name,
                                                const Explanation& explanation) {
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
    group.set_manifest(ToText(explanation.rendered.object));
    AddReasons(*explanation.plan, group);
    *message.mutable_members() = explanation.members;
    for (const std::string& loss : explanation.rendered.losses) group.add_losses(loss);
    message.set_least_pods(explanation.least_pods);
  }
  if (!explanation.queue_problem.empty()) message.add_notes(explanation.queue_problem);
  for (const std::string& note : explanation.notes) message.add_notes(note);
  for (const std::string& reason : explanation.unschedulable) message.add_unschedulable(reason);
  return message;
}

// Adds what KAI's scheduler states about the group in its status (pod-grouper 9.1), or that this cannot be read.
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

absl::Status NotReady(std::string_view key) {
  return MakeStatus(
      absl::StatusCode::kUnavailable,
      fmt::format("{}: this replica does not have its slot, or is still starting; try again", NameOf(key)));
}

absl::Status NotFound(const std::string& key, std::string_view message) {
  return rpc::WithResource(MakeStatus(absl::StatusCode::kNotFound, message), kube::kPodGroups, NameOf(key));
}

}  // namespace

std::string RoutingKeyOf(podgroup::v1::Profile profile, std::string_view ns, std::string_view name) {
  const kube::GroupProfile kind = ProfileOf(profile);
  return kind == kube::GroupProfile::kCompat ? kube::ObjectKey(OrDefault(ns), name)
                                             : kube::NamespaceKey(OrDefault(ns), kind);
}

void PodGroupApi::Get(podgroup::v1::GetPodGroupRequest request, rpc::Done<podgroup::v1::PodGroup> done) {
  const uint32_t slot = SlotOf(RoutingKeyOf(request.profile(), request.namespace_(), request.name()));
  const std::string key = ShownKeyOf(request);
  workers_.OnWorkerOf(slot, [slot, key, done = std::move(done)](PodGroupController& controller) mutable {
    if (!controller.context().IsReady(slot)) return done(NotReady(key));
    std::optional<podgroup::v1::PodGroup> group = controller.Show(key);
    if (!group) return done(NotFound(key, fmt::format("pod group {} does not exist", NameOf(key))));
    done(*std::move(group));
  });
}

void PodGroupApi::ListPart(podgroup::v1::ListPartRequest asked, rpc::Done<ListPartResponse> done) {
  const size_t size = rpc::PageSizeOf(asked.request().page_size());
  const SlotSet slots = SlotSet::FromBytes(asked.slots());
  const auto list = [request = std::move(*asked.mutable_request()), size, slots](PodGroupController& controller) {
    std::vector<ListPartResponse> parts;
    for (const GroupScopes* const scopes : controller.all_scopes()) {
      parts.push_back(PartOf(*scopes, request, size, slots));
    }
    return rpc::MergeParts<PodGroupList>(std::move(parts), size);
  };
  auto merge = [size, done = std::move(done)](absl::StatusOr<std::vector<ListPartResponse>> parts) mutable {
    if (!parts.ok()) return done(parts.status());
    done(rpc::MergeParts<PodGroupList>(*std::move(parts), size));
  };
  runtime::GatherWorkers<ListPartResponse>(workers_, slots, list, std::move(merge));
}

void PodGroupApi::History(podgroup::v1::GetPodGroupHistoryRequest request,
                          rpc::Done<podgroup::v1::PodGroupHistory> done) {
  const uint32_t slot = SlotOf(RoutingKeyOf(request.profile(), request.namespace_(), request.name()));
  const std::string key = ShownKeyOf(request);
  workers_.OnWorkerOf(slot, [slot, key, done = std::move(done)](PodGroupController& controller) mutable {
    if (!controller.context().IsReady(slot)) return done(NotReady(key));
    auto read = controller.records().Read(slot, key);
    if (!read.ok()) return done(read.status());
    if (!*read) return done(NotFound(key, fmt::format("there is no history of a pod group {}", NameOf(key))));
    podgroup::v1::PodGroupHistory history;
    history.set_cluster(std::string(controller.context().cluster()));
    history.set_allocated_gone_time(kube::ToTimestamp((*read)->gone_ms).release());
    for (PodGroupHistoryRecord& record : (*read)->entries) *history.add_entries() = ToMessage(std::move(record));
    done(std::move(history));
  });
}

void PodGroupApi::ExplainGrouping(podgroup::v1::ExplainGroupingRequest request,
                                  rpc::Done<podgroup::v1::ExplainGroupingResponse> done) {
  const std::string key = RoutingKeyOf(request.profile(), request.namespace_(), request.group());
  const std::string pod = kube::ObjectKey(OrDefault(request.namespace_()), request.name());
  workers_.OnWorkerOf(
      SlotOf(key), [key, pod, name = request.name(), done = std::move(done)](PodGroupController& controller) mutable {
        if (!controller.context().IsReady(SlotOf(key))) return done(NotReady(pod));
        const std::optional<Explanation> explanation = controller.ScopesOf(key).Explain(key, name);
        if (!explanation) {
          const std::string why = fmt::format("there is no pod {} that is grouped here, as far as is known", pod);
          return done(rpc::WithResource(MakeStatus(absl::StatusCode::kNotFound, why), kube::kPods, pod));
        }
        const std::string ns(kube::NamespaceOf(key));
        podgroup::v1::ExplainGroupingResponse message = ToMessage(ns, name, *explanation);
        if (!explanation->is_there || kube::ProfileOf(key) != kube::GroupProfile::kKai) return done(std::move(message));
        // No watch follows the scheduler's status, which changes in each of its cycles.
        controller.context().GetForCaller(key, kube::GetOf(kube::kKaiPodGroups, ns, explanation->found->grouping.name),
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
