#pragma once

// One controller of any service over a Kubernetes in memory (rig_kube.h), under simulated time: rounds as the runtime
// runs them, writes and watches with a delay each way, faults by script, its slots closed and opened, and the end of
// its process at any chosen point, with its disk or without. Everything in one thread.
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/gateway/v1/gateway.pb.h"
#include "common/kv/kv_store.h"
#include "common/rpc/peers.h"
#include "common/runtime/controller.h"
#include "common/testing/controller_rig/rig_kube.h"
#include "common/time/sim_time.h"

namespace basalt::testing {

// What becomes of a write on its way.
enum class Fate { kNormal, kNotSent, kLostRequest, kLostAnswer };

class ControllerRig {
 public:
  using MakePeer = std::function<std::unique_ptr<rpc::ServicePeer>(runtime::Context& context)>;
  struct Parts {
    gateway::v1::ServiceKind service = gateway::v1::SERVICE_KIND_UNSPECIFIED;
    // Of a process that starts; what it returns is destroyed before whatever outlives Shutdown.
    std::function<std::unique_ptr<runtime::Controller>(runtime::Context& context)> controller;
    // Members of other services, which own all keys there.
    std::map<gateway::v1::ServiceKind, MakePeer> peers;
    bool is_rich = false;  // As gateway::RouteOptions.
  };

  explicit ControllerRig(Parts parts);
  virtual ~ControllerRig();
  ControllerRig(const ControllerRig&) = delete;
  ControllerRig& operator=(const ControllerRig&) = delete;

  SimTime& time() { return time_; }
  RigKube& server() { return server_; }
  runtime::Controller& any_controller();
  kv::KvStore& store();
  bool alive() const { return process_ != nullptr; }

  // ---- the process ----

  // Starts a process over the disk that is there. Snapshot first, then live states.
  void Start();
  // kill -9: nothing of the process runs any more.
  void Kill();
  void LoseDisk() { disk_ = kv::MakeMemDisk(); }
  // What the disk holds now, and later that it holds no more than that, as after a loss of power.
  std::shared_ptr<kv::MemDisk> CopyDisk() const { return kv::CopyMemDisk(*disk_); }
  void LosePower(std::shared_ptr<kv::MemDisk> copy) { disk_ = std::move(copy); }
  // Kills the process at the n-th point from now (1 = the next): before and after each record, before and after each
  // request reaches the server. 0 = never.
  void KillAt(int point) { kill_at_ = point == 0 ? 0 : points_ + point; }
  int points() const { return points_; }
  void ClearPoints() { points_ = 0; }
  int rounds() const { return rounds_; }
  // Over each key; of all processes.
  const std::map<std::string, int>& passes() const { return passes_; }
  // Given what each round records, before it does.
  std::function<void(const kv::WriteBatch& batch)> on_record;

  // ---- its slots ----

  // Another one has the slot from now on; answers that are on their way are not told any more.
  void CloseSlot(uint32_t slot);
  // It comes back, in a later epoch, with what the store has of it and a snapshot.
  void OpenSlot(uint32_t slot);
  // What the controller is told of every slot.
  bool ready = true;

  // ---- what it hears ----

  // UIDs of objects that the next snapshot leaves out, and nobody says yet whether they are gone.
  std::set<std::string> uncertain;
  // By UID, states that snapshots show in the place of the newest ones, as of a watch that lags.
  std::map<std::string, kube::v1::Object> older;
  // Last states of pods that are gone, which the next snapshot tells, as of a gateway that saw them go.
  std::vector<kube::v1::Object> ends;
  // How much later than usual a watch tells of it; what writes are answered is told at once.
  std::function<absl::Duration(const kube::v1::Object& object, bool gone)> late;
  // Tells it of an object, whether there is one or not.
  void Show(const kube::v1::Object& object, bool gone = false);
  // What the process asks for at present: "persistentvolumeclaims default/data".
  std::set<std::string> Interests() const;
  // Sets the API server's clock, forward or back, and with it what the process knows of it.
  void SetApiClock(absl::Duration ahead);

  // ---- its writes ----

  // Asked for each one.
  std::function<Fate(const gateway::v1::WriteRequest& request)> fate;
  // How much later than usual it hears what became of a write.
  std::function<absl::Duration(const gateway::v1::WriteRequest& request)> answers_late;
  // When nobody knows what became of a write, that is known after this: the runtime waits until the server must have
  // given up.
  absl::Duration unknown_after = absl::ZeroDuration();

  // ---- time ----

  void Run(absl::Duration horizon = absl::Seconds(1)) { time_.Advance(horizon); }
  template <typename Condition>
  bool RunUntil(Condition condition, absl::Duration limit = absl::Minutes(5)) {
    return time_.AdvanceUntil(condition, limit);
  }

 protected:
  // Ends all processes for good: before what a derived class has of them goes.
  void Shutdown();

 private:
  friend class RigContext;
  struct Process;

  void OnChange(const RigKube::Change& change);
  // By the watch of the object: a state, or its end.
  void Deliver(const kube::v1::Object& object, bool gone);
  // The answer to a write of `key`: of what every replica hears, too, it is told as a state of that key.
  void DeliverAnswer(const std::string& key, const kube::v1::Object& object, bool gone);
  void DeliverState(const kube::v1::Object& object, const std::string& key);
  void DeliverGone(const kube::v1::Object& object, const std::string& key, runtime::Gone::Reason reason);
  // To the process, if it asks for it.
  void DeliverInterest(const std::string& watch, const kube::v1::Object& object, bool gone);
  void DeliverOfCluster(const std::string& watch, const kube::v1::Object& object, bool gone);
  // The key of the object in this service; empty: none.
  std::string KeyOf(const kube::v1::Object& object) const;
  // Tells what there is of these slots, and what is gone of what was known.
  void Snapshot(const std::function<bool(uint32_t slot)>& has, std::map<std::string, runtime::KnownObject> known);
  std::map<std::string, runtime::KnownObject> OpenInController(uint32_t first, uint32_t last);
  void PostRound();
  void Round();
  // True when the process has just died.
  bool Point();

  const Parts parts_;
  SimTime time_;
  RigKube server_;
  std::map<std::string, kube::v1::Object> there_;  // All watched objects, by UID.
  std::shared_ptr<kv::MemDisk> disk_;
  std::unique_ptr<Process> process_;
  // What died may still be on the stack of the round that it died in.
  std::vector<std::unique_ptr<Process>> dead_;
  uint64_t seed_ = 1;
  int64_t epoch_ = 0;
  int kill_at_ = 0;
  int points_ = 0;
  int rounds_ = 0;
  std::map<std::string, int> passes_;
  int in_flight_ = 0;  // Requests on their way to the server.
};

}  // namespace basalt::testing
