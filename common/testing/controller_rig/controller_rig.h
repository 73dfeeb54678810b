#pragma once

// Runs one controller of any service over a Kubernetes in memory (rig_kube.h), under simulated time. The rig runs
// rounds as the runtime does, delays writes and watches each way, makes faults by script, closes and opens slots, and
// ends the process at any chosen point, with its disk or without. Everything runs in one thread.
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

// The fate of a write on its way.
enum class Fate { kNormal, kNotSent, kLostRequest, kLostAnswer };

class ControllerRig {
 public:
  using MakePeer = std::function<std::unique_ptr<rpc::ServicePeer>(runtime::Context& context)>;
  struct Parts {
    gateway::v1::ServiceKind service = gateway::v1::SERVICE_KIND_UNSPECIFIED;
    // Makes the controller of a process that starts. Shutdown destroys the controller at the latest.
    std::function<std::unique_ptr<runtime::Controller>(runtime::Context& context)> controller;
    // Make the members of other services. Each member owns all keys of its service.
    std::map<gateway::v1::ServiceKind, MakePeer> peers;
    bool is_rich = false;  // Is passed on as gateway::RouteOptions::is_rich.
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

  // Starts a process over the present disk. The process gets a snapshot, then live states.
  void Start();
  // Kills the process as kill -9 does: no task of the process runs any more.
  void Kill();
  void LoseDisk() { disk_ = kv::MakeMemDisk(); }
  // Returns a copy of the present disk.
  std::shared_ptr<kv::MemDisk> CopyDisk() const { return kv::CopyMemDisk(*disk_); }
  // Resets the disk to an earlier copy, as a loss of power may do.
  void LosePower(std::shared_ptr<kv::MemDisk> copy) { disk_ = std::move(copy); }
  // Kills the process at the n-th point from now (1 = the next). Points are before and after each record, and before
  // and after each request reaches the server. 0 means never.
  void KillAt(int point) { kill_at_ = point == 0 ? 0 : points_ + point; }
  int points() const { return points_; }
  void ClearPoints() { points_ = 0; }
  int rounds() const { return rounds_; }
  // Returns the number of passes over each key, of all processes.
  const std::map<std::string, int>& passes() const { return passes_; }
  // Gets the records of each round before the round writes them.
  std::function<void(const kv::WriteBatch& batch)> on_record;

  // ---- slots ----

  // Gives the slot to another member. The controller does not get answers that are on their way.
  void CloseSlot(uint32_t slot);
  // Gives the slot back, in a later epoch, with its records in the store and a snapshot.
  void OpenSlot(uint32_t slot);
  // The answer of IsReady() for every open slot.
  bool ready = true;

  // ---- states and ends ----

  // UIDs of objects that snapshots leave out without reporting them as gone.
  std::set<std::string> uncertain;
  // States, by UID, that snapshots contain instead of the newest ones, as of a watch that lags.
  std::map<std::string, kube::v1::Object> older;
  // Last states of pods that are gone. The next snapshot contains them, as of a gateway that observed their end.
  std::vector<kube::v1::Object> ends;
  // Returns the additional delay of a watch for an object. The answers of writes are not delayed by it.
  std::function<absl::Duration(const kube::v1::Object& object, bool gone)> late;
  // Sends a state or an end of an object by its watch, whether the object exists or not.
  void Show(const kube::v1::Object& object, bool gone = false);
  // Returns the present interests of the process: "persistentvolumeclaims default/data".
  std::set<std::string> Interests() const;
  // Sets the API server's clock, forward or back, and the process's estimate of it.
  void SetApiClock(absl::Duration ahead);

  // ---- writes of the controller ----

  // Returns the fate of each write.
  std::function<Fate(const gateway::v1::WriteRequest& request)> fate;
  // Returns the additional delay of a write's answer.
  std::function<absl::Duration(const gateway::v1::WriteRequest& request)> answers_late;
  // A write of unknown outcome is reported as unknown after this time: the runtime waits until the server must have
  // given up.
  absl::Duration unknown_after = absl::ZeroDuration();

  // ---- time ----

  void Run(absl::Duration horizon = absl::Seconds(1)) { time_.Advance(horizon); }
  template <typename Condition>
  bool RunUntil(Condition condition, absl::Duration limit = absl::Minutes(5)) {
    return time_.AdvanceUntil(condition, limit);
  }

 protected:
  // Ends all processes for good. A derived class calls this before its members go that processes use.
  void Shutdown();

 private:
  friend class RigContext;
  struct Process;

  void OnChange(const RigKube::Change& change);
  // Delivers a state or an end by the watch of the object.
  void Deliver(const kube::v1::Object& object, bool gone);
  // Delivers the answer to a write of `key`. An object that every replica gets is delivered as a state of that key.
  void DeliverAnswer(const std::string& key, const kube::v1::Object& object, bool gone);
  void DeliverState(const kube::v1::Object& object, const std::string& key);
  void DeliverGone(const kube::v1::Object& object, const std::string& key, runtime::Gone::Reason reason);
  // Delivers an object if the process has an interest in it.
  void DeliverInterest(const std::string& watch, const kube::v1::Object& object, bool gone);
  void DeliverOfCluster(const std::string& watch, const kube::v1::Object& object, bool gone);
  // Returns the key of the object in this service. Empty if the object has none.
  std::string KeyOf(const kube::v1::Object& object) const;
  // Delivers the objects of these slots, and the ends of known objects that are gone.
  void Snapshot(const std::function<bool(uint32_t slot)>& has, std::map<std::string, runtime::KnownObject> known);
  std::map<std::string, runtime::KnownObject> OpenInController(uint32_t first, uint32_t last);
  void PostRound();
  void Round();
  // Passes a point. Returns true if the process dies here.
  bool Point();

  const Parts parts_;
  SimTime time_;
  RigKube server_;
  std::map<std::string, kube::v1::Object> there_;  // All watched objects, by UID.
  std::shared_ptr<kv::MemDisk> disk_;
  std::unique_ptr<Process> process_;
  // Killed processes are kept, since a process may still be on the stack of the round in which it died.
  std::vector<std::unique_ptr<Process>> dead_;
  uint64_t seed_ = 1;
  int64_t epoch_ = 0;
  int kill_at_ = 0;
  int points_ = 0;
  int rounds_ = 0;
  std::map<std::string, int> passes_;
  int in_flight_ = 0;  // The number of requests on their way to the server.
};

}  // namespace basalt::testing
