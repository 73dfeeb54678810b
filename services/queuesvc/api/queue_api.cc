#include "services/queuesvc/api/queue_api.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/json.h"
#include "common/base/json_int32.h"
#include "common/base/random.h"
#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/kube/resources/resources.h"
#include "common/rpc/error_details.h"
#include "common/rpc/list_part.h"
#include "common/runtime/gather_workers.h"
#include "common/runtime/write_status.h"
#include "services/queuesvc/api/queue_history.h"
#include "services/queuesvc/api/queue_list.h"
#include "services/queuesvc/core/check_queue_spec.h"
#include "services/queuesvc/core/queue_requests.h"
#include "services/queuesvc/core/queue_rules.h"
#include "services/queuesvc/core/queue_state.h"

namespace basalt::queuesvc {

using queue::v1::ListPartRequest;
using queue::v1::ListPartResponse;

namespace {

absl::Status NotReady(const std::string& name) {
  return MakeStatus(
      absl::StatusCode::kUnavailable,
      fmt::format("queue {}: this replica does not have its slot, or is still starting; try again", name));
}

absl::Status OfQueue(absl::StatusCode code, const std::string& name, std::string_view message) {
  return rpc::WithResource(MakeStatus(code, message), kube::kQueues, name);
}

absl::Status NotFound(const std::string& name) {
  return OfQueue(absl::StatusCode::kNotFound, name, fmt::format("queue {} does not exist", name));
}

// Finds the queue of that name and, unless `uid` is empty, of that UID.
absl::StatusOr<const kube::v1::Queue*> FindQueueOf(QueueController& controller, const std::string& name,
                                                   std::string_view uid) {
  if (const absl::Status status = CheckIsOurs(name); !status.ok()) return status;
  if (!controller.context().IsReady(SlotOf(name))) return NotReady(name);
  const kube::v1::Queue* const queue = controller.queues().Find(name);
  if (queue == nullptr) return NotFound(name);
  if (uid.empty() || uid == queue->meta().uid()) return queue;
  return OfQueue(
      absl::StatusCode::kNotFound, name,
      fmt::format("queue {} with UID {} does not exist; the present one has UID {}", name, uid, queue->meta().uid()));
}

// Checks whether the queue takes a Command, in whatever state it is.
absl::Status CheckCommand(const queue::v1::CommandQueueRequest& request, const kube::v1::Queue& queue) {
  const std::string& name = request.name();
  if (queue.meta().deletion_ms() != 0) {
    return OfQueue(absl::StatusCode::kFailedPrecondition, name, fmt::format("queue {} is being deleted", name));
  }
  if (name == kube::kRootQueue && request.action() == kCloseQueue) {
    return OfQueue(absl::StatusCode::kFailedPrecondition, name, "queue root cannot be closed");
  }
  return absl::OkStatus();
}

using Pairs = google::protobuf::RepeatedPtrField<kube::v1::KeyValue>;

void AddPair(std::string_view key, std::string_view value, Pairs& pairs) {
  kube::v1::KeyValue& pair = *pairs.Add();
  pair.set_key(std::string(key));
  pair.set_value(std::string(value));
}

absl::Status ReadAmounts(const json::value* value, std::string_view field, Pairs& amounts) {
  const absl::StatusOr<kube::ResourceMap> resources = kube::ResourceMapFromJson(value, field);
  if (!resources.ok()) {
    const std::string_view message = ToStd(resources.status().message());
    const size_t colon = message.find(": ");
    return rpc::InvalidField(message.substr(0, colon), message.substr(colon + 2));
  }
  for (const auto& [resource, amount] : *resources) AddPair(resource, amount.Text(), amounts);
  return absl::OkStatus();
}

absl::StatusOr<int32_t> WeightIn(const json::value& spec) {
  const json::value* const weight = Find(spec, "weight");
  if (weight == nullptr || weight->is_null()) return 1;
  const std::optional<int32_t> number = Int32Of(*weight);
  if (number) return *number;
  return rpc::InvalidField("spec.weight", "must be an integer of 32 bits");
}

}  // namespace

absl::Status CheckIsOurs(const std::string& name) {
  if (!kube::IsKaiQueueKey(name)) return absl::OkStatus();
  return OfQueue(absl::StatusCode::kFailedPrecondition, name,
                 fmt::format("queue {} is of KAI's scheduler: it is read here, and nothing else", name));
}

absl::StatusOr<kube::v1::Queue> ReadQueueManifest(const queue::v1::CreateQueueRequest& request) {
  const absl::StatusOr<json::value> manifest = ParseJson(request.manifest_json());
  if (!manifest.ok() || !manifest->is_object()) return rpc::InvalidField("manifest_json", "is no object in JSON");
  if (FindString(*manifest, "apiVersion") != kube::kSchedulingApiVersion) {
    return rpc::InvalidField("apiVersion", fmt::format("must be {}", kube::kSchedulingApiVersion));
  }
  if (FindString(*manifest, "kind") != kube::kQueues.name) return rpc::InvalidField("kind", "must be Queue");
  const json::value* const metadata = Find(*manifest, "metadata");
  const std::string_view name = metadata == nullptr ? "" : FindString(*metadata, "name");
  if (name.empty()) return rpc::InvalidField("metadata.name", "is required");
  kube::v1::Queue queue;
  queue.mutable_meta()->set_name(std::string(name));
  const json::value* const annotations = Find(*metadata, "annotations");
  if (annotations != nullptr && annotations->is_object()) {
    for (const auto& [key, value] : annotations->get_object()) {
      if (!value.is_string()) continue;
      AddPair(std::string_view(key.data(), key.size()), std::string_view(value.get_string()),
              *queue.mutable_meta()->mutable_annotations());
    }
  }
  if (const json::value* const spec = Find(*manifest, "spec"); spec != nullptr) {
    queue.set_parent(std::string(FindString(*spec, "parent")));
    BASALT_ASSIGN_OR_RETURN(const int32_t weight, WeightIn(*spec));
    queue.set_weight(weight);
    const json::value* const guarantee = Find(*spec, "guarantee");
    const json::value* const reserved = guarantee == nullptr ? nullptr : Find(*guarantee, "resource");
    BASALT_RETURN_IF_ERROR(ReadAmounts(Find(*spec, "capability"), "spec.capability", *queue.mutable_capability()));
    BASALT_RETURN_IF_ERROR(ReadAmounts(Find(*spec, "deserved"), "spec.deserved", *queue.mutable_deserved()));
    BASALT_RETURN_IF_ERROR(ReadAmounts(reserved, "spec.guarantee.resource", *queue.mutable_guarantee()));
  }
  const std::vector<QueueProblem> problems = CheckQueueSpec(queue);
  if (problems.empty()) return queue;
  return rpc::InvalidField(problems.front().field, problems.front().rule);
}

void QueueApi::Command(queue::v1::CommandQueueRequest request, const std::string& user_token,
                       rpc::Done<queue::v1::CommandQueueResponse> done) {
  if (request.action() != kOpenQueue && request.action() != kCloseQueue) {
    return done(rpc::InvalidField(
        "action", fmt::format("'{}' is none; use {} or {}", request.action(), kOpenQueue, kCloseQueue)));
  }
  const uint32_t slot = SlotOf(request.name());
  auto shared = std::make_shared<rpc::Done<queue::v1::CommandQueueResponse>>(std::move(done));
  workers_.OnWorkerOf(slot, [request = std::move(request), user_token, shared](QueueController& controller) {
    runtime::Context& context = controller.context();
    const std::string& name = request.name();
    const absl::StatusOr<const kube::v1::Queue*> queue = FindQueueOf(controller, name, request.uid());
    if (!queue.ok()) return (*shared)(queue.status());
    if (const absl::Status status = CheckCommand(request, **queue); !status.ok()) return (*shared)(status);
    const std::string id = request.request_id().empty() ? MakeUuid(context.random()) : request.request_id();
    gateway::v1::WriteRequest write = MakeCommandCreation((*queue)->meta(), request.action(), id);
    write.set_user_token(user_token);
    const std::string command = kube::ObjectKey(write.namespace_(), write.name());
    context.WriteForCaller(name, std::move(write), [command, shared](const runtime::WriteOutcome& outcome) {
      const absl::Status status = runtime::StatusOf(outcome);
      if (!status.ok() && !runtime::IsNameTaken(outcome)) return (*shared)(status);
      queue::v1::CommandQueueResponse response;
      response.set_command(command);
      (*shared)(std::move(response));
    });
  });
}

void QueueApi::Create(queue::v1::CreateQueueRequest request, const std::string& user_token,
                      rpc::Done<queue::v1::Queue> done) {
  absl::StatusOr<kube::v1::Queue> read = ReadQueueManifest(request);
  if (!read.ok()) return done(read.status());
  auto shared = std::make_shared<rpc::Done<queue::v1::Queue>>(std::move(done));
  const uint32_t slot = SlotOf(read->meta().name());
  workers_.OnWorkerOf(
      slot, [queue = *std::move(read), request = std::move(request), user_token, shared](QueueController& controller) {
        const std::string& name = queue.meta().name();
        if (!controller.context().IsReady(SlotOf(name))) return (*shared)(NotReady(name));
        // The API server itself refuses a queue that exists already.
        const bool exists = controller.queues().Find(name) != nullptr;
        const QueueProblem problem = exists ? QueueProblem() : controller.HoldAgainstOthers(queue);
        if (!problem.field.empty()) return (*shared)(rpc::InvalidField(problem.field, problem.rule));
        // The answer to a dry run has no object. The queue from the manifest is the one that would be created, but for
        // defaults.
        queue::v1::Queue answer;
        if (request.dry_run()) *answer.mutable_object() = queue;
        gateway::v1::WriteRequest write = MakeManifestRequest(name, request.manifest_json(), request.dry_run());
        write.set_user_token(user_token);
        controller.context().WriteForCaller(
            name, std::move(write), [name, shared, made = std::move(answer)](runtime::WriteOutcome outcome) mutable {
              if (runtime::IsNameTaken(outcome)) {
                return (*shared)(
                    OfQueue(absl::StatusCode::kAlreadyExists, name, fmt::format("queue {} exists already", name)));
              }
              if (const absl::Status status = runtime::StatusOf(outcome); !status.ok()) return (*shared)(status);
              if (outcome.object.has_queue()) *made.mutable_object() = std::move(*outcome.object.mutable_queue());
              (*shared)(std::move(made));
            });
      });
}

void QueueApi::Delete(const queue::v1::DeleteQueueRequest& request, const std::string& user_token,
                      rpc::Done<queue::v1::DeleteQueueResponse> done) {
  auto shared = std::make_shared<rpc::Done<queue::v1::DeleteQueueResponse>>(std::move(done));
  workers_.OnWorkerOf(SlotOf(request.name()), [request, user_token, shared](QueueController& controller) {
    const std::string& name = request.name();
    const absl::StatusOr<const kube::v1::Queue*> queue = FindQueueOf(controller, name, request.uid());
    if (!queue.ok()) return (*shared)(queue.status());
    if (const std::string problem = CheckDeletion(name, controller.children()); !problem.empty()) {
      return (*shared)(OfQueue(absl::StatusCode::kFailedPrecondition, name, problem));
    }
    gateway::v1::WriteRequest write = MakeQueueDeletion((*queue)->meta());
    write.set_user_token(user_token);
    controller.context().WriteForCaller(name, std::move(write), [name, shared](const runtime::WriteOutcome& outcome) {
      const absl::Status status = runtime::StatusOf(outcome);
      if (status.code() == absl::StatusCode::kNotFound) {
        return (*shared)(NotFound(name));
      }
      if (!status.ok()) return (*shared)(status);
      (*shared)(queue::v1::DeleteQueueResponse());
    });
  });
}

void QueueApi::Explain(const queue::v1::ExplainQueueRequest& request, const std::string& user_token,
                       rpc::Done<queue::v1::QueueExplanation> done) {
  const uint32_t slot = SlotOf(request.name());
  workers_.OnWorkerOf(slot, [name = request.name(), slot, is_for_user = !user_token.empty(),
                             done = std::move(done)](QueueController& controller) mutable {
    if (const absl::Status status = CheckIsOurs(name); !status.ok()) return done(status);
    if (!controller.context().IsReady(slot)) return done(NotReady(name));
    if (!controller.Find(name)) return done(NotFound(name));
    absl::StatusOr<queue::v1::QueueExplanation> explanation = controller.Explain(name);
    if (explanation.ok() && is_for_user) explanation->clear_pod_groups();
    done(std::move(explanation));
  });
}

void QueueApi::Get(const queue::v1::GetQueueRequest& request, rpc::Done<queue::v1::Queue> done) {
  const uint32_t slot = SlotOf(request.name());
  workers_.OnWorkerOf(slot, [name = request.name(), slot, done = std::move(done)](QueueController& controller) mutable {
    if (!controller.context().IsReady(slot)) return done(NotReady(name));
    if (std::optional<queue::v1::Queue> queue = controller.Find(name)) return done(*std::move(queue));
    done(NotFound(name));
  });
}

void QueueApi::History(const queue::v1::GetQueueHistoryRequest& request, rpc::Done<queue::v1::QueueHistory> done) {
  const uint32_t slot = SlotOf(request.name());
  workers_.OnWorkerOf(slot, [request, slot, done = std::move(done)](QueueController& controller) mutable {
    if (const absl::Status status = CheckIsOurs(request.name()); !status.ok()) return done(status);
    if (!controller.context().IsReady(slot)) return done(NotReady(request.name()));
    auto history = HistoryOf(controller.records(), controller.RecordOf(request.name()), request);
    if (history.ok()) history->set_cluster(std::string(controller.context().cluster()));
    done(std::move(history));
  });
}

void QueueApi::ListPart(const ListPartRequest& request, rpc::Done<ListPartResponse> done) {
  const SlotSet slots = SlotSet::FromBytes(request.slots());
  const size_t size = rpc::PageSizeOf(request.request().page_size());
  const auto list = [token = request.request().page_token(), size, slots](QueueController& controller) {
    const auto add = [&](const std::string& name, const auto&, ListPartResponse& part) {
      if (!slots.Contains(SlotOf(name))) return;
      if (std::optional<queue::v1::Queue> queue = controller.FindNamed(name)) *part.add_queues() = *std::move(queue);
    };
    const auto add_missing = [&](const std::string& name, const auto& entry, ListPartResponse& part) {
      if (controller.queues().Find(name) == nullptr) add(name, entry, part);
    };
    return rpc::MergeParts<QueueList>({rpc::MakePart<QueueList>(controller.queues(), token, size, add),
                                       rpc::MakePart<QueueList>(controller.named(), token, size, add_missing),
                                       rpc::MakePart<QueueList>(controller.kai_queues().entries(), token, size, add)},
                                      size);
  };
  auto merge = [size, done = std::move(done)](absl::StatusOr<std::vector<ListPartResponse>> parts) mutable {
    if (!parts.ok()) return done(parts.status());
    done(rpc::MergeParts<QueueList>(*std::move(parts), size));
  };
  runtime::GatherWorkers<ListPartResponse>(workers_, slots, list, std::move(merge));
}

}  // namespace basalt::queuesvc
