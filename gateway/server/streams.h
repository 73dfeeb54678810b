#pragma once

// The streams of replicas: decides which replica is let in, one stream of each name, and passes on what the streams
// report. Confined to one loop.
//
// A second live process under the same name is refused with ALREADY_EXISTS while the attached one acknowledges. Once
// the oldest batch of the attached one has waited for the grace period, that process is taken for dead: its stream is
// closed with ABORTED, and the newer one is let in. A second stream of the same incarnation replaces the first at once,
// since the client has given the first one up.
// A name belongs to its replica for as long as it is a member's, over restarts of both sides. Names and incarnations
// are no secret. A stream proves the name by the name secret or by a certificate, and is given a token, by which each
// write and read proves that it is that process's. A process whose stream has broken is answered for as long as its
// slots wait for it.
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/rpc/peers.h"
#include "common/rpc/protocols.h"
#include "gateway/interests/interests.h"
#include "gateway/interests/owner_interests.h"
#include "gateway/kube/kube_access.h"
#include "gateway/ownership/leadership.h"
#include "gateway/route/cache.h"
#include "gateway/server/membership.h"
#include "gateway/server/refusals.h"
#include "gateway/server/replicas.h"
#include "gateway/server/slot_moves.h"

namespace basalt::gateway {

struct StreamOptions {
  std::string cluster;
  std::string version;                         // For people only.
  rpc::Protocols protocols = rpc::kProtocols;  // Replicas that speak none of them are refused.
  absl::Duration grace;                        // As OwnershipOptions.grace.
  size_t most_replicas = 128;                  // The limit for each service.
  SessionOptions session;
  InterestOptions interests;
};

class Streams {
 public:
  // All references must outlive this object. Every stream must end (OnClosed) before this object. `on_attached` is
  // called after each replica that was let in.
  Streams(Loop& loop, Random& random, KubeAccess& kube, const Cache& cache, Leadership& leadership, Replicas& replicas,
          SlotMoves& moves, Membership& membership, Refusals& refusals, StreamOptions options,
          std::function<void()> on_attached);
  ~Streams() { *alive_ = false; }

  std::unique_ptr<rpc::AttachSession> Open(rpc::AttachSink& sink);

  const OwnerInterests& owner_interests() const { return owner_interests_; }

 private:
  class Stream;

  absl::Status Hello(Stream& stream, rpc::AttachSink& sink, const v1::Hello& hello);
  // Checks the message by itself.
  absl::Status CheckHello(const v1::Hello& hello) const;
  // Checks that the replica may come in now. Counts and logs refusals.
  absl::Status LetIn(const rpc::AttachSink& sink, const v1::Hello& hello);
  absl::Status TakeName(const rpc::AttachSink& sink, const v1::Hello& hello);
  absl::Status CheckRoom(v1::ServiceKind service) const;
  absl::Status HandleInterest(Session& session, const v1::Interest& interest);
  void Detach(Stream& stream);

  Loop& loop_;
  Random& random_;
  KubeAccess& kube_;
  const Cache& cache_;
  Leadership& leadership_;
  Replicas& replicas_;
  SlotMoves& moves_;
  Membership& membership_;
  Refusals& refusals_;
  const StreamOptions options_;
  const std::function<void()> on_attached_;
  Interests interests_;
  OwnerInterests owner_interests_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace basalt::gateway
