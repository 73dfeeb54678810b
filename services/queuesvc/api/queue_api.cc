#include "services/queuesvc/api/queue_api.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/kinds.h"
#include "common/rpc/error_details.h"
#include "common/rpc/list_part.h"
#include "common/runtime/gather_workers.h"
#include "services/queuesvc/api/queue_history.h"
#include "services/queuesvc/api/queue_list.h"

namespace basalt::queuesvc {

using queue::v1::ListPartRequest;
using queue::v1::ListPartResponse;

namespace {

absl::Status NotReady(const std::string& name) {
  return MakeStatus(
      absl::StatusCode::kUnavailable,
      fmt::format("queue {}: this replica does not have its slot, or is still starting; try again", name));
}

}  // namespace

void QueueApi::Get(const queue::v1::GetQueueRequest& request, rpc::Done<queue::v1::Queue> done) {
  const uint32_t slot = SlotOf(request.name());
  workers_.OnWorkerOf(slot, [name = request.name(), slot, done = std::move(done)](QueueController& controller) mutable {
    if (!controller.context().IsReady(slot)) return done(NotReady(name));
    if (std::optional<queue::v1::Queue> queue = controller.Find(name)) return done(*std::move(queue));
    done(rpc::WithResource(MakeStatus(absl::StatusCode::kNotFound, fmt::format("queue {} does not exist", name)),
                           kube::kQueues, name));
  });
}

void QueueApi::History(const queue::v1::GetQueueHistoryRequest& request, rpc::Done<queue::v1::QueueHistory> done) {
  const uint32_t slot = SlotOf(request.name());
  workers_.OnWorkerOf(slot, [request, slot, done = std::move(done)](QueueController& controller) mutable {
    if (!controller.context().IsReady(slot)) return done(NotReady(request.name()));
    done(HistoryOf(controller.records(), controller.RecordOf(request.name()), request));
  });
}

void QueueApi::ListPart(const ListPartRequest& request, rpc::Done<ListPartResponse> done) {
  const SlotSet slots = SlotSet::FromBytes(request.slots());
  const size_t size = rpc::PageSizeOf(request.request().page_size());
  const auto list = [token = request.request().page_token(), size, slots](QueueController& controller) {
    const auto add = [&](const std::string& name, const kube::v1::Queue&, ListPartResponse& part) {
      if (!slots.Contains(SlotOf(name))) return;
      if (std::optional<queue::v1::Queue> queue = controller.Find(name)) *part.add_queues() = *std::move(queue);
    };
    return rpc::MakePart<QueueList>(controller.queues(), token, size, add);
  };
  auto merge = [size, done = std::move(done)](absl::StatusOr<std::vector<ListPartResponse>> parts) mutable {
    if (!parts.ok()) return done(parts.status());
    done(rpc::MergeParts<QueueList>(*std::move(parts), size));
  };
  runtime::GatherWorkers<ListPartResponse>(workers_, slots, list, std::move(merge));
}

}  // namespace basalt::queuesvc
