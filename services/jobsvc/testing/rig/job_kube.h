#pragma once

// The Kubernetes of JobRig as tests of jobs speak of it: what users, a scheduler and kubelets do, and what there is, by
// "namespace/name". It stores nothing of its own: everything is kubesim's.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/podgroup/v1/podgroup.pb.h"
#include "common/testing/controller_rig/controller_rig.h"

namespace basalt::jobsvc::testing {

// Of a PersistentVolumeClaim, with what the API server wants.
inline constexpr char kClaimSpec[] = R"({"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}})";

class JobKube {
 public:
  using Logged = basalt::testing::RigKube::Logged;
  using Refuse = basalt::testing::RigKube::Refuse;

  explicit JobKube(basalt::testing::ControllerRig& rig);

  absl::Time Now() const { return server_.Now(); }

  // ---- faults ----
  void SetRefuse(Refuse refuse) { server_.refuse = std::move(refuse); }
  basalt::testing::RigKube::RefuseGet& refuse_get;
  absl::Status refuse_group;  // Not OK: what whoever asks for a PodGroup is answered.

  // ---- what users do ----
  // Creates, or replaces the spec; what changes nothing of it is an edit all the same.
  void PutJob(kube::v1::Job job);
  void PutManifest(const json::value& manifest);  // The same as it is written, in the namespace "default".
  void EditJob(const std::string& key, const std::function<void(kube::v1::Job&)>& edit);
  void DeleteJob(const std::string& key);  // With everything it owns.
  // The same, and a finalizer keeps it.
  void HoldDeletedJob(const std::string& key);
  void PutCommand(const std::string& ns, const std::string& name, const std::string& action, const std::string& job,
                  const std::function<void(kube::v1::Command&)>& edit = nullptr);
  void PutForeignPod(const std::string& ns, const std::string& name, const std::string& job_name);
  // A write of somebody else; of a request that names its kind by the plural alone, too.
  gateway::v1::WriteResponse Write(gateway::v1::WriteRequest request);
  gateway::v1::GetResponse Get(const gateway::v1::GetRequest& request) { return server_.Get(request); }

  // ---- what the cluster does ----
  // What pgsvc makes of it.
  absl::StatusOr<podgroup::v1::EnsurePodGroupResponse> EnsurePodGroup(
      const podgroup::v1::EnsurePodGroupRequest& request);
  void SetGroupPhase(const std::string& key, const std::string& phase);
  // A time of deletion: it is deleted, and a finalizer keeps it.
  void EditGroup(const std::string& key, const std::function<void(kube::v1::PodGroup&)>& edit);
  // An empty value takes the label away.
  void EditLabel(const std::string& pod, std::string_view label, std::string_view value);
  // What it changes of status, owner, labels and node. A time of deletion: it is deleted, and a finalizer keeps it.
  void EditPod(const std::string& key, const std::function<void(kube::v1::Pod&)>& edit);
  void SetPodPhase(const std::string& key, kube::v1::PodPhase phase, int exit_code = 0);
  void SetAllPods(kube::v1::PodPhase phase);
  void RemovePod(const std::string& key);  // Deleted by somebody, at once.
  // A finalizer keeps it once it is deleted; without one a pod that has ended goes at once.
  void HoldPod(const std::string& key);
  // Pods are on nodes, those of now and those to come: what is deleted lingers until FinishDeletions.
  void SchedulePods(bool schedules = true);
  void FinishDeletions();                   // Pods with a deletionTimestamp go.
  std::string new_group_phase = "Inqueue";  // Of a group that is made.
  void ForgetEvents();                      // As the API server does after about an hour.

  // ---- what there is ----
  const std::map<std::string, kube::v1::Job>& jobs() const { return Synced().jobs_; }
  const std::map<std::string, kube::v1::Pod>& pods() const { return Synced().pods_; }
  const std::map<std::string, kube::v1::PodGroup>& groups() const { return Synced().groups_; }
  const std::map<std::string, kube::v1::Command>& commands() const { return Synced().commands_; }
  // "<plural>/<ns>/<name>"
  const std::map<std::string, json::object>& others() const { return Synced().others_; }
  const kube::v1::Job& job(const std::string& key) const { return jobs().at(key); }
  // Of "<plural>/<ns>/<name>".
  std::string UidOf(const std::string& other) const;
  const json::object& pod_body(const std::string& key) const { return Synced().pod_bodies_.at(key)->as_object(); }

  // ---- what was asked for ----
  const std::vector<Logged>& log() const { return server_.log(); }
  void ClearLog() { server_.ClearLog(); }
  int Count(std::string_view verb, std::string_view plural = {}, std::string_view name = {}) const {
    return server_.Count(verb, plural, name);
  }
  int WritesButEvents() const { return server_.WritesButEvents(); }
  int gets() const { return server_.gets(); }
  int group_asks() const { return group_asks_; }  // For a PodGroup; answered or refused.

  // That a job has ended which the next snapshot shows once more, as of a cache that lags.
  void ShowJobGone(const std::string& key);

 private:
  using Stored = std::shared_ptr<const json::value>;

  const JobKube& Synced() const {
    server_.Sync();
    return *this;
  }
  void OnChange(const basalt::testing::RigKube::Change& change);
  // `spec`: null where there is none.
  void StoreJob(json::object metadata, json::value spec);
  void Bind(const std::string& key, std::string_view node);
  json::object OwnerOf(const std::string& uid) const;

  basalt::testing::ControllerRig& rig_;
  basalt::testing::RigKube& server_;
  std::map<std::string, kube::v1::Job> jobs_;
  std::map<std::string, Stored> job_bodies_;
  std::map<std::string, kube::v1::Pod> pods_;
  std::map<std::string, Stored> pod_bodies_;
  std::map<std::string, kube::v1::PodGroup> groups_;
  std::map<std::string, Stored> group_bodies_;
  std::map<std::string, kube::v1::Command> commands_;
  std::map<std::string, json::object> others_;
  bool schedules_ = false;
  int touches_ = 0;
  int group_asks_ = 0;
};

}  // namespace basalt::jobsvc::testing
