#pragma once

// Keeps members and slots in line with the attached replicas: proposes, saves and adopts assignments while this gateway
// leads, and has SlotMoves carry out what follows. Confined to one loop.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "basalt/storage/v1/storage.pb.h"
#include "common/exec/loop.h"
#include "gateway/kube/kube_access.h"
#include "gateway/lead/assignment_store.h"
#include "gateway/ownership/leadership.h"
#include "gateway/server/hub_metrics.h"
#include "gateway/server/replicas.h"
#include "gateway/server/slot_moves.h"

namespace basalt::gateway {

struct MembershipOptions {
  OwnershipOptions ownership;
  absl::Duration save_again = absl::Milliseconds(500);  // The pause after an assignment could not be saved.
  // Called at each change with a text on how the attached replicas differ from OwnershipOptions.expected. Empty if they
  // do not differ. May be null.
  std::function<void(const std::string& differs)> on_members;
  // Another gateway leads, or has led since.
  std::function<void()> on_superseded;
};

class Membership {
 public:
  // All references must outlive this object.
  Membership(Loop& loop, KubeAccess& kube, AssignmentStore& store, Leadership& leadership, Replicas& replicas,
             SlotMoves& moves, HubMetrics& metrics, MembershipOptions options);
  ~Membership();

  // Makes this gateway the leader, from the record that the last leader saved.
  void Lead(const storage::v1::AssignmentRecord& saved);
  // Another gateway leads: cancels what is planned.
  void Stop();

  // ---- what the streams report while this gateway leads ----
  // The replica has its session by now.
  void Attach(const v1::Hello& hello, std::string_view name_secret_digest, Session& session);
  void Detach(const v1::Member& member);
  void Release(const v1::Member& member, const v1::Released& released);
  void Leave(const v1::Member& member);

 private:
  void RestoreOwners();
  void Reconcile();
  void ForgetGone();
  void ArmDeadline();
  void Save(storage::v1::AssignmentRecord record);
  void Adopt(const storage::v1::AssignmentRecord& record);
  void ReportMembers();

  Loop& loop_;
  KubeAccess& kube_;
  AssignmentStore& store_;
  Leadership& leadership_;
  Replicas& replicas_;
  SlotMoves& moves_;
  HubMetrics& metrics_;
  const MembershipOptions options_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  std::optional<std::string> reported_;  // The last text for on_members.
  bool saving_ = false;
  TimerId deadline_timer_ = kNoTimer;
  TimerId save_timer_ = kNoTimer;
};

}  // namespace basalt::gateway
