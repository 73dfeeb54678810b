#pragma once

// Calls about PodGroups that travel many to a message. These functions convert them between the two interfaces of
// common/rpc/peers.h, for any transport.
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/podgroup/v1/podgroup.pb.h"
#include "common/base/status.h"
#include "common/rpc/call_window.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

// The limits of one stream. A job has one call about its group under way, of a few KiB, which the object in Kubernetes
// bounds. The server keeps the calls that it has not answered: 2 000 calls are a second's work of a server. 20 000 are
// all jobs of a large replica.
inline constexpr CallBounds kGroupCallBounds{.call_bytes = 3 << 20,
                                             .message_calls = 256,
                                             .message_bytes = 3 << 20,
                                             .sent_calls = 2'000,
                                             .sent_bytes = 16 << 20,
                                             .open_calls = 20'000,
                                             .open_bytes = 64 << 20};

using GroupCallAnswer = podgroup::v1::CallAnswers::Answer;

// Runs on the handler's loop.
inline void HandleGroupCall(PodGroupHandler& handler, podgroup::v1::CallBatch::Call call, Done<GroupCallAnswer> done) {
  if (call.has_ensure()) {
    handler.EnsurePodGroup(
        std::move(*call.mutable_ensure()),
        [done = std::move(done)](absl::StatusOr<podgroup::v1::EnsurePodGroupResponse> response) mutable {
          if (!response.ok()) return done(response.status());
          GroupCallAnswer answer;
          *answer.mutable_ensured() = *std::move(response);
          done(std::move(answer));
        });
  } else if (call.has_deletion()) {
    handler.DeletePodGroup(
        std::move(*call.mutable_deletion()),
        [done = std::move(done)](absl::StatusOr<podgroup::v1::DeletePodGroupResponse> response) mutable {
          if (!response.ok()) return done(response.status());
          GroupCallAnswer answer;
          *answer.mutable_deleted() = *std::move(response);
          done(std::move(answer));
        });
  } else {
    done(Invalid("ensure or deletion is required"));
  }
}

// The client's side of a stream: each call goes through Ask, once.
class GroupCallPeer : public PodGroupPeer {
 public:
  void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request, absl::Duration timeout,
                      Done<podgroup::v1::EnsurePodGroupResponse> done) final {
    podgroup::v1::CallBatch::Call call;
    *call.mutable_ensure() = std::move(request);
    Ask(std::move(call), timeout, [done = std::move(done)](absl::StatusOr<GroupCallAnswer> answer) mutable {
      if (!answer.ok()) return done(answer.status());
      if (!answer->has_ensured()) return done(absl::UnknownError("the answer has no ensured"));
      done(std::move(*answer->mutable_ensured()));
    });
  }
  void DeletePodGroup(podgroup::v1::DeletePodGroupRequest request, absl::Duration timeout,
                      Done<podgroup::v1::DeletePodGroupResponse> done) final {
    podgroup::v1::CallBatch::Call call;
    *call.mutable_deletion() = std::move(request);
    Ask(std::move(call), timeout, [done = std::move(done)](absl::StatusOr<GroupCallAnswer> answer) mutable {
      if (!answer.ok()) return done(answer.status());
      if (!answer->has_deleted()) return done(absl::UnknownError("the answer has no deleted"));
      done(std::move(*answer->mutable_deleted()));
    });
  }

 protected:
  virtual void Ask(podgroup::v1::CallBatch::Call call, absl::Duration timeout, Done<GroupCallAnswer> done) = 0;
};

}  // namespace basalt::rpc
