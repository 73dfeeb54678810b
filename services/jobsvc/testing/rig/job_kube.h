#pragma once

// The Kubernetes of JobRig, in the terms of tests of jobs: the actions of users, a scheduler and kubelets, and the
// objects by "namespace/name". It stores nothing of its own: kubesim stores everything.
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

// The spec of a PersistentVolumeClaim that the API server accepts.
inline constexpr char kClaimSpec[] = R"({"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}})";

class JobKube {
 public:
  using Logged = basalt::testing::RigKube::Logged;
  using Refuse = basalt::testing::RigKube::Refuse;

  explicit JobKube(basalt::testing::ControllerRig& rig);

  absl::Time Now() const { return server_.Now(); }

  // ---- faults ----
  void SetRefuse(Refuse refuse) { server_.refuse = std::move(refuse); }
  // Refuses the writes that are chosen, until the next call.
  void RefuseWrites(std::function<bool(const gateway::v1::WriteRequest&)> chosen, int code, std::string message = "",
                    std::string reason = "");
  basalt::testing::RigKube::RefuseGet& refuse_get;
  absl::Status refuse_group;  // If not OK, the answer to every request for a PodGroup.

  // ---- actions of users ----
  // Creates the job, or replaces its spec. An unchanged spec is an edit, too.
  void PutJob(kube::v1::Job job);
  void PutManifest(const json::value& manifest);  // Stores the manifest as it is written, in the namespace "default".
  void EditJob(const std::string& key, const std::function<void(kube::v1::Job&)>& edit);
  void DeleteJob(const std::string& key);  // Deletes the job with everything that it owns.
  // Deletes the job; a finalizer keeps it.
  void HoldDeletedJob(const std::string& key);
  void PutCommand(const std::string& ns, const std::string& name, const std::string& action, const std::string& job,
                  const std::function<void(kube::v1::Command&)>& edit = nullptr);
  // Puts a command about a part of "default/j". The target is JSON.
  void PutTargeted(const std::string& name, const std::string& action, const std::string& target);
  void PutForeignPod(const std::string& ns, const std::string& name, const std::string& job_name);
  // Writes as somebody else. The request may name its kind by the plural alone.
  gateway::v1::WriteResponse Write(gateway::v1::WriteRequest request);
  gateway::v1::GetResponse Get(const gateway::v1::GetRequest& request) { return server_.Get(request); }

  // ---- actions of the cluster ----
  // Makes or changes the group as pgsvc does.
  absl::StatusOr<podgroup::v1::EnsurePodGroupResponse> EnsurePodGroup(
      const podgroup::v1::EnsurePodGroupRequest& request);
  void SetGroupPhase(const std::string& key, const std::string& phase);
  // Applies the edit. A new time of deletion deletes the group, and a finalizer keeps it.
  void EditGroup(const std::string& key, const std::function<void(kube::v1::PodGroup&)>& edit);
  // An empty value removes the label.
  void EditLabel(const std::string& pod, std::string_view label, std::string_view value);
  // Applies changes of status, owner, labels and node. A new time of deletion deletes the pod, and a finalizer keeps
  // it.
  void EditPod(const std::string& key, const std::function<void(kube::v1::Pod&)>& edit);
  void SetPodPhase(const std::string& key, kube::v1::PodPhase phase, int exit_code = 0);
  void SetAllPods(kube::v1::PodPhase phase);
  void RemovePod(const std::string& key);  // Deletes the pod as somebody else, at once.
  // Adds a finalizer, which keeps the pod once it is deleted. Without one, a pod that has ended goes at once.
  void HoldPod(const std::string& key);
  // Binds pods to nodes, the present ones and those to come: a deleted pod lingers until FinishDeletions.
  void SchedulePods(bool schedules = true);
  void FinishDeletions();                   // Pods with a deletionTimestamp go.
  std::string new_group_phase = "Inqueue";  // Phase of a new group.
  void ForgetEvents();                      // The API server forgets them after about an hour.

  // ---- stored objects ----
  const std::map<std::string, kube::v1::Job>& jobs() const { return Synced().jobs_; }
  const std::map<std::string, kube::v1::Pod>& pods() const { return Synced().pods_; }
  const std::map<std::string, kube::v1::PodGroup>& groups() const { return Synced().groups_; }
  const std::map<std::string, kube::v1::Command>& commands() const { return Synced().commands_; }
  // By "<plural>/<ns>/<name>".
  const std::map<std::string, json::object>& others() const { return Synced().others_; }
  const kube::v1::Job& job(const std::string& key) const { return jobs().at(key); }
  // Returns the UID of "<plural>/<ns>/<name>".
  std::string UidOf(const std::string& other) const;
  const json::object& pod_body(const std::string& key) const { return Synced().pod_bodies_.at(key)->as_object(); }

  // ---- requests ----
  const std::vector<Logged>& log() const { return server_.log(); }
  void ClearLog() { server_.ClearLog(); }
  int Count(std::string_view verb, std::string_view plural = {}, std::string_view name = {}) const {
    return server_.Count(verb, plural, name);
  }
  int WritesButEvents() const { return server_.WritesButEvents(); }
  int gets() const { return server_.gets(); }
  int group_asks() const { return group_asks_; }  // Requests for a PodGroup, answered or refused.

  // Shows that the job is gone, although the next snapshot contains it once more, like that of a lagging cache.
  void ShowJobGone(const std::string& key);

 private:
  using Stored = std::shared_ptr<const json::value>;

  const JobKube& Synced() const {
    server_.Sync();
    return *this;
  }
  void OnChange(const basalt::testing::RigKube::Change& change);
  // `spec` is null if there is none.
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
