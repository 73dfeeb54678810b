#pragma once

// Carries out the plans for all objects of one kind: makes, changes and deletes their children and writes their status,
// as a client of the API server. An object gets its next plan when it or one of its children changes, but not before
// all requests for it have been answered, and the watch has shown the children that were made. Confined to one loop.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "kubesim/actors/client/api.h"
#include "kubesim/actors/client/informer.h"
#include "kubesim/actors/workloads/plan.h"

namespace basalt::actors {

struct WorkloadKind {
  std::string_view api_version;  // "apps/v1"
  std::string_view kind;         // "ReplicaSet"
  std::string_view plural;
  std::string_view child_base;  // "/api/v1"
  std::string_view child_plural;
  Child (*child_of)(const json::value& object);
  PlanFunction plan;
};

class WorkloadController {
 public:
  // All references outlive this object. The owner of the informers starts them after this object has been constructed.
  WorkloadController(Loop& loop, Api& api, Informer& owners, Informer& children, const WorkloadKind& kind);
  ~WorkloadController();

 private:
  struct Owner {
    json::value object;                               // Null if the watch has not shown the owner.
    std::map<std::string, Child> children;            // By namespace/name.
    std::set<std::string> awaited;                    // Keys of created children that the watch has not shown.
    std::set<std::string> ended;                      // Keys of children that went while requests were in flight.
    std::set<std::string> deleted;                    // UIDs of children for which a deletion was sent.
    absl::Time awaited_until = absl::InfinitePast();  // When the owner stops waiting for `awaited`.
    int requests = 0;                                 // Number of requests in flight.
    bool has_failed = false;                          // A request of the present round has failed.
    int failures = 0;                                 // Number of rounds of requests in a row that have failed.
  };
  // The listener of one of the two informers.
  template <void (WorkloadController::*kObject)(const json::value&),
            void (WorkloadController::*kGone)(const ObjectName&)>
  class Listener final : public InformerListener {
   public:
    explicit Listener(WorkloadController& controller) : controller_(controller) {}
    bool is_synced() const { return is_synced_; }
    void OnObject(const json::value& object) override { (controller_.*kObject)(object); }
    void OnGone(const ObjectName& gone) override { (controller_.*kGone)(gone); }
    void OnSynced() override {
      is_synced_ = true;
      controller_.WakeAll();
    }

   private:
    WorkloadController& controller_;
    bool is_synced_ = false;
  };

  void OnOwner(const json::value& object);
  void OnOwnerGone(const ObjectName& gone);
  void OnChild(const json::value& object);
  void OnChildGone(const ObjectName& gone);

  // Removes the child from its owner.
  void Part(const std::string& uid, const std::string& key);
  void WakeAll();
  void Wake(const std::string& uid, absl::Duration delay);
  void Arm(absl::Time when);
  void RunDue();
  void Converge(const std::string& uid);
  void Create(const std::string& uid, json::object child);
  void Change(const std::string& uid, const std::string& name, const json::object& patch);
  void Remove(const std::string& uid, const std::string& key);
  void WriteStatus(const std::string& uid, const json::object& status);
  // Sends a request for an owner. `done` gets the answer.
  void Send(const std::string& uid, ApiRequest request, std::function<void(Owner&, const ApiAnswer&)> done);
  static std::string KeyOf(const Owner& owner, std::string_view child);
  std::string ChildTarget(const Owner& owner, std::string_view name) const;
  void DropIfForgotten(const std::string& uid);

  Loop& loop_;
  Api& api_;
  const WorkloadKind kind_;
  Listener<&WorkloadController::OnOwner, &WorkloadController::OnOwnerGone> owner_listener_{*this};
  Listener<&WorkloadController::OnChild, &WorkloadController::OnChildGone> child_listener_{*this};
  std::map<std::string, Owner> owners_;           // By UID.
  std::map<std::string, std::string> owner_uid_;  // By the child's namespace/name.
  std::map<std::string, absl::Time> due_;         // By the owner's UID.
  TimerId timer_ = kNoTimer;
  absl::Time timer_at_;
};

}  // namespace basalt::actors
