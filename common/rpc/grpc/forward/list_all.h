#pragma once

// Lists a page of the objects of all replicas of a service: each replica is called for its part in the slots that it
// owns.
//
// Heavy (gRPC), as forward.h.
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/slot_set.h"
#include "common/rpc/error_details.h"
#include "common/rpc/grpc/forward/forward.h"
#include "common/rpc/list_part.h"

namespace basalt::rpc {

// `List`: see common/rpc/list_part.h; its PartRequest has `request` and `slots`. `local(part_request, done)` answers
// here; `start(stub, context, part_request, part, callback)` calls another replica. Runs on the loop of `parts`.
// INVALID_ARGUMENT: page_size is negative.
template <typename List, typename PartService, typename Request, typename Local, typename Start>
void ListAll(Forwarder<PartService>& parts, Caller caller, const Request& request, Done<typename List::Page> done,
             Local local, Start start) {
  using Part = typename List::Part;
  using PartRequest = typename List::PartRequest;
  if (request.page_size() < 0) return done(InvalidField("page_size", "must not be negative"));
  const auto make = [request](const SlotSet& slots) {
    PartRequest part;
    *part.mutable_request() = request;
    part.set_slots(slots.ToBytes());
    return part;
  };
  auto merge = [size = PageSizeOf(request.page_size()),
                done = std::move(done)](absl::StatusOr<std::vector<Part>> all) mutable {
    if (!all.ok()) return done(all.status());
    done(ToPage<List>(MergeParts<List>(*std::move(all), size)));
  };
  parts.template Gather<PartRequest>(std::move(caller), make, Done<std::vector<Part>>(std::move(merge)),
                                     std::move(local), rpc::Remote<Part>(std::move(start)));
}

}  // namespace basalt::rpc
