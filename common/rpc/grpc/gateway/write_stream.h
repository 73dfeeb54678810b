#pragma once

// The client's end of GatewayService.Write: one stream for the writes to one gateway. What is asked for in one turn of
// the loop, or while a message is on its way, goes out together.
//
// Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/base/mutex.h"
#include "common/exec/loop.h"
#include "common/rpc/grpc/calls.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

// Keeps itself until gRPC is done with it, and every write is answered once, as rpc::GatewayPeer says: also when the
// stream ends. On `loop`, but for gRPC's callbacks, which only post and send what is there. Loop and calls outlive it.
class WriteStream final : public grpc::ClientBidiReactor<gateway::v1::WriteBatch, gateway::v1::WriteAnswers>,
                          public std::enable_shared_from_this<WriteStream> {
 public:
  WriteStream(CallSet& calls, Loop& loop) : calls_(calls), loop_(loop) {}

  // `stub` outlives the stream.
  void Begin(gateway::v1::GatewayService::Stub& stub);
  // Requires: !ending(), no Close yet.
  void Write(gateway::v1::WriteRequest request, absl::Duration timeout, Done<gateway::v1::WriteResponse> done);
  // Nothing more comes. The stream ends when everything is answered.
  void Close();
  // It is over, or the server takes no more writes.
  bool ending() const { return ending_; }

 private:
  struct Waiting {
    Done<gateway::v1::WriteResponse> done;
    absl::Time deadline;
  };
  struct Queued {
    absl::Time since;
    size_t bytes = 0;
    gateway::v1::WriteBatch::Write write;
  };

  // gRPC's threads.
  void OnReadInitialMetadataDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  void Flush() BASALT_EXCLUDES(mutex_);
  void SendNext() BASALT_REQUIRES(mutex_);
  void TakeAnswers(gateway::v1::WriteAnswers answers);
  void Answer(uint64_t id, absl::StatusOr<gateway::v1::WriteResponse> answer);
  // UNAVAILABLE to all that was not sent, and will not be.
  void AnswerUnsent(std::string_view why);
  void SetTimer();
  void Expire();
  void End(const absl::Status& status);
  // Takes it back; false: it may be under way to the server.
  bool Unqueue(uint64_t id) BASALT_EXCLUDES(mutex_);

  CallSet& calls_;
  Loop& loop_;
  std::shared_ptr<WriteStream> self_;
  grpc::ClientContext context_;

  // On the loop.
  std::map<uint64_t, Waiting> waiting_;
  std::set<std::pair<absl::Time, uint64_t>> deadlines_;  // Of those.
  uint64_t last_id_ = 0;
  bool flush_posted_ = false;
  bool ending_ = false;
  TimerId timer_ = kNoTimer;
  absl::Time timer_at_ = absl::InfiniteFuture();

  gateway::v1::WriteAnswers answers_;  // gRPC's while a read is under way.

  Mutex mutex_;
  std::deque<Queued> queue_ BASALT_GUARDED_BY(mutex_);  // Ascending ids.
  gateway::v1::WriteBatch batch_ BASALT_GUARDED_BY(mutex_);
  bool open_ BASALT_GUARDED_BY(mutex_) = false;  // The server has answered: what is sent arrives there or nowhere.
  bool sending_ BASALT_GUARDED_BY(mutex_) = false;
  bool closing_ BASALT_GUARDED_BY(mutex_) = false;
  bool refused_ BASALT_GUARDED_BY(mutex_) = false;  // The server takes no more.
  bool over_ BASALT_GUARDED_BY(mutex_) = false;     // Nothing is to be sent any more.
};

}  // namespace basalt::rpc
