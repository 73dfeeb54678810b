#pragma once

// Calls about PodGroups in the simulation. For the .cc files of the simulated network only.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/rpc/call_window.h"
#include "common/rpc/group_calls.h"
#include "common/rpc/reopen_pause.h"
#include "common/rpc/sim/sim_core.h"

namespace basalt::rpc {

// Both ends of one stream. Calls made in one turn arrive together, and answers given in one turn come back together,
// each in the order in which it was sent. A lost message ends the stream: at once, or when a keepalive would notice the
// silence.
class SimNetwork::Core::GroupStream : public std::enable_shared_from_this<GroupStream> {
 public:
  using Call = podgroup::v1::CallBatch::Call;

  GroupStream(uint64_t id, Endpoint client, std::string server)
      : id_(id), client_(std::move(client)), server_(std::move(server)) {}

  // ---- the client's end ----

  // Requires: !ended(). RESOURCE_EXHAUSTED: the open calls reach a limit of kGroupCallBounds.
  void Ask(Core& core, Call call, absl::Duration timeout, Done<GroupCallAnswer> done);
  // No more calls follow; the stream ends when every call is answered.
  void Close(Core& core);
  // Returns whether the client knows that the stream is over.
  bool ended() const { return ended_; }
  absl::Time ended_at() const { return ended_at_; }
  bool was_of_use() const { return was_of_use_; }  // True once a call was answered.

  // ---- the network ----

  // Delivers nothing more; the client is notified after a delay.
  void Break(Core& core);
  // The client is gone: no callback is called any more.
  void Drop() {
    broken_ = true;
    open_.clear();
  }
  const Endpoint& client() const { return client_; }
  const std::string& server() const { return server_; }
  uint64_t server_generation() const { return server_generation_; }
  // Returns whether the server has calls whose answers have not arrived.
  bool is_busy() const { return !broken_ && (answers_due_ || under_way_.use_count() > 1); }

 private:
  using Message = std::vector<Call>;
  using Answers = std::vector<GroupCallAnswer>;

  // Runs `then(core, stream)` on the client, once the client runs.
  template <typename Then>
  void OnClient(Core& core, Then then);

  void Flush(Core& core);
  void SendUp(Core& core);
  void Deliver(Core& core, Message message);
  void Arrive(Core& core, Message message);
  // Runs at the server. `heard` is false for a repetition, whose answers are dropped.
  void Handle(Core& core, Message message, bool heard);
  void Keep(Core& core, uint64_t id, absl::StatusOr<GroupCallAnswer> answer);
  void SendDown(Core& core);
  void TakeAnswers(Core& core, Answers answers);
  void Expire(Core& core, uint64_t id);
  void End(uint64_t id, absl::StatusOr<GroupCallAnswer> answer);
  void EndAll(Core& core, const absl::Status& why);
  void DropIfOver(Core& core);
  // The next message is lost, and the stream with it.
  void Lose(Core& core);
  // All messages from now on are lost, and neither end notices before a keepalive would.
  void FallSilent(Core& core);

  const uint64_t id_;
  const Endpoint client_;
  const std::string server_;
  uint64_t server_generation_ = 0;  // 0 until the first message has arrived.
  bool broken_ = false;
  bool silent_ = false;
  absl::Time up_until_;
  absl::Time down_until_;

  // State of the client.
  CallWindow<Call> window_ = CallWindow<Call>(kGroupCallBounds);
  std::map<uint64_t, Done<GroupCallAnswer>> open_;
  uint64_t last_id_ = 0;
  bool flush_due_ = false;
  bool closing_ = false;
  bool was_of_use_ = false;
  bool ended_ = false;
  absl::Time ended_at_;

  // State of the server.
  std::shared_ptr<char> under_way_ = std::make_shared<char>();  // Held by each call and each message of answers.
  Answers answers_;
  bool answers_due_ = false;
};

// A member of pgsvc as one host uses it: one stream at a time.
class SimNetwork::Core::GroupPeer final : public GroupCallPeer {
 public:
  GroupPeer(std::weak_ptr<Core> core, Endpoint self, std::string server)
      : core_(std::move(core)), self_(std::move(self)), server_(std::move(server)) {}
  ~GroupPeer() override;

 private:
  void Ask(podgroup::v1::CallBatch::Call call, absl::Duration timeout, Done<GroupCallAnswer> done) override;

  const std::weak_ptr<Core> core_;
  const Endpoint self_;
  const std::string server_;
  std::shared_ptr<GroupStream> stream_;
  ReopenPause pause_;
};

}  // namespace basalt::rpc
