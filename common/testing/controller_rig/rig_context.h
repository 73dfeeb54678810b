#pragma once

// The runtime's interface for a controller in the rig.
#include <string>
#include <string_view>

#include "common/runtime/controller.h"
#include "common/testing/controller_rig/controller_rig.h"

namespace basalt::testing {

class RigContext final : public runtime::Context {
 public:
  RigContext(ControllerRig& rig, ControllerRig::Process& process) : rig_(rig), process_(process) {}

  Loop& loop() override;
  Random& random() override;
  kv::KvStore& store() override;
  absl::Time ApiNow() const override { return rig_.server_.Now(); }
  void Wake(std::string_view key) override;
  void WakeAt(std::string_view key, absl::Time when) override;
  bool IsReady(uint32_t slot) const override;
  int64_t SlotEpoch(uint32_t slot) const override;
  runtime::SlotCounts Slots() const override;
  void Write(std::string_view key, gateway::v1::WriteRequest request, runtime::WriteDone done) override;
  void WriteForCaller(std::string_view key, gateway::v1::WriteRequest request, runtime::WriteDone done) override;
  void Get(std::string_view key, gateway::v1::GetRequest request, runtime::GetDone done) override;
  void GetForCaller(std::string_view key, gateway::v1::GetRequest request, runtime::GetDone done) override;
  bool CallOwner(gateway::v1::ServiceKind service, std::string_view key, runtime::PeerCall call) override;
  void MergeAnswer(std::string_view key, const kube::v1::Object& object, bool gone) override;
  void AddInterest(std::string_view watch, std::string_view ns, std::string_view name) override;
  void DropInterest(std::string_view watch, std::string_view ns, std::string_view name) override;
  void Fail(const absl::Status& why) override;

  // Moves the wake-ups as KeyQueue does.
  void ClockChanged(absl::Duration set_back);

 private:
  struct Sent {
    std::string key;
    uint64_t generation = 0;  // The generation of the key's slot.
    bool for_caller = false;
    gateway::v1::WriteRequest request;
    runtime::WriteDone done;
  };

  uint64_t GenerationOf(std::string_view key) const;
  bool IsOpen(std::string_view key) const { return SlotEpochOf(key) != 0; }
  int64_t SlotEpochOf(std::string_view key) const;
  void Send(Sent sent);
  void Arrive(Sent sent, Fate chosen);
  // Delivers the outcome after the way back, unless the key's slot has closed.
  void Answer(Sent sent, absl::Duration after, runtime::WriteOutcome outcome);

  ControllerRig& rig_;
  ControllerRig::Process& process_;
};

// Returns a text such as "persistentvolumeclaims default/data".
std::string InterestOf(std::string_view watch, std::string_view ns, std::string_view name);

}  // namespace basalt::testing
