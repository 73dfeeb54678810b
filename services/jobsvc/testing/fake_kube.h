#pragma once

// An API server in miniature for the tests of the job controller: jobs, pods, pod groups, commands and opaque objects,
// with UIDs, resourceVersions, preconditions, conflicts and graceful deletion. It also plays scheduler and kubelet on
// request. Simulated time only. What it accepts is logged, so that tests can count writes.
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/podgroup/v1/podgroup.pb.h"
#include "common/base/json.h"
#include "common/exec/loop.h"

namespace basalt::jobsvc::testing {

class FakeKube {
 public:
  struct Logged {
    std::string verb;    // create, patch, delete, deletecollection
    std::string plural;  // with "/status" for that sub-resource
    std::string name;
    int code = 0;  // 0: accepted.
    bool dry_run = false;
  };
  // The newest state of an object; `gone`: its last. Of opaque ones the watch is their plural.
  using Watcher = std::function<void(const std::string& watch, const kube::v1::Object& object, bool gone)>;
  // Answers a write instead of the server where it returns true.
  using Refuse = std::function<bool(const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error)>;

  explicit FakeKube(Loop& loop) : loop_(loop) {}

  absl::Duration ahead;  // Of simulated time: its clock.
  absl::Time Now() const { return loop_.Now() + ahead; }

  void SetWatcher(Watcher watcher) { watcher_ = std::move(watcher); }
  void SetRefuse(Refuse refuse) { refuse_ = std::move(refuse); }
  // Answers a read instead of the server where it returns true.
  std::function<bool(const gateway::v1::GetRequest& request, gateway::v1::KubeError& error)> refuse_get;
  absl::Status refuse_group;  // Not OK: what whoever asks for a PodGroup is answered.

  gateway::v1::WriteResponse Write(const gateway::v1::WriteRequest& request);
  gateway::v1::GetResponse Get(const gateway::v1::GetRequest& request);
  absl::StatusOr<podgroup::v1::EnsurePodGroupResponse> EnsurePodGroup(
      const podgroup::v1::EnsurePodGroupRequest& request);

  // ---- what users do ----
  void PutJob(kube::v1::Job job);  // Creates, or replaces the spec.
  void EditJob(const std::string& key, const std::function<void(kube::v1::Job&)>& edit);
  void DeleteJob(const std::string& key);  // With everything it owns.
  void PutCommand(const std::string& ns, const std::string& name, const std::string& action, const std::string& job,
                  const std::function<void(kube::v1::Command&)>& edit = nullptr);
  void PutForeignPod(const std::string& ns, const std::string& name, const std::string& job_name);

  // ---- what the cluster does ----
  void SetGroupPhase(const std::string& key, const std::string& phase);
  void EditGroup(const std::string& key, const std::function<void(kube::v1::PodGroup&)>& edit);
  // Of a pod as it is stored; an empty value takes the label away.
  void EditLabel(const std::string& pod, std::string_view label, std::string_view value);
  void EditPod(const std::string& key, const std::function<void(kube::v1::Pod&)>& edit);
  void SetPodPhase(const std::string& key, kube::v1::PodPhase phase, int exit_code = 0);
  void SetAllPods(kube::v1::PodPhase phase);
  void RemovePod(const std::string& key);  // Deleted by somebody, at once.
  void FinishDeletions();                  // Pods with a deletionTimestamp go.
  absl::Duration late_ends =
      absl::ZeroDuration();                 // So long after a Command is gone its watch shows it; the answer does not.
  bool graceful_pods = false;               // Deleted pods linger until FinishDeletions.
  std::string new_group_phase = "Inqueue";  // Of a group that is made.

  const std::map<std::string, kube::v1::Job>& jobs() const { return jobs_; }
  const std::map<std::string, kube::v1::Pod>& pods() const { return pods_; }
  const std::map<std::string, kube::v1::PodGroup>& groups() const { return groups_; }
  const std::map<std::string, kube::v1::Command>& commands() const { return commands_; }
  const std::map<std::string, json::object>& others() const { return others_; }  // "<plural>/<ns>/<name>"
  // As the API server does after about an hour.
  void ForgetEvents() {
    std::erase_if(others_, [](const auto& other) { return other.first.starts_with("events/"); });
  }
  // Of an opaque object; empty: there is none.
  kube::v1::Object Other(const std::string& plural, const std::string& ns, const std::string& name) const;
  kube::v1::Job& job(const std::string& key) { return jobs_.at(key); }
  const json::object& pod_body(const std::string& key) const { return pod_bodies_.at(key); }
  const std::vector<Logged>& log() const { return log_; }
  void ClearLog() { log_.clear(); }
  // Accepted writes, Events apart. Empty arguments match everything.
  int Count(std::string_view verb, std::string_view plural = {}, std::string_view name = {}) const;
  int WritesButEvents() const;
  int gets() const { return gets_; }
  int group_asks() const { return group_asks_; }  // For a PodGroup; answered or refused.
  // Shows every object there is, as a snapshot does.
  void Replay(const Watcher& watcher) const;
  // Tells the watchers of an object, whether there is one or not.
  void Show(const std::string& watch, kube::v1::Object object, bool gone = false);
  // That a job has ended which the next snapshot shows once more, as of a cache that lags.
  void ShowJobGone(const std::string& key);

 private:
  std::string NewUid(std::string_view kind);
  void ShowJob(const std::string& key);
  void ShowPod(const std::string& key);
  gateway::v1::WriteResponse Apply(const gateway::v1::WriteRequest& request);
  gateway::v1::WriteResponse Create(const gateway::v1::WriteRequest& request, const std::string& key);
  gateway::v1::WriteResponse PatchSizes(const gateway::v1::WriteRequest& request, const std::string& key,
                                        const json::value& operations);
  gateway::v1::WriteResponse Patch(const gateway::v1::WriteRequest& request, const std::string& key);
  gateway::v1::WriteResponse DeleteCollection(const gateway::v1::WriteRequest& request);
  gateway::v1::WriteResponse Delete(const gateway::v1::WriteRequest& request, const std::string& key);
  kube::v1::Object GenericOf(const std::string& plural_key) const;

  Loop& loop_;
  Watcher watcher_;
  Refuse refuse_;
  int64_t version_ = 100;
  int64_t uids_ = 0;
  std::map<std::string, kube::v1::Job> jobs_;
  std::map<std::string, json::object> statuses_;  // Of jobs, as JSON.
  std::map<std::string, kube::v1::Pod> pods_;
  std::map<std::string, json::object> pod_bodies_;
  std::map<std::string, kube::v1::PodGroup> groups_;
  std::map<std::string, kube::v1::Command> commands_;
  std::map<std::string, json::object> others_;
  std::vector<Logged> log_;
  int gets_ = 0;
  int group_asks_ = 0;
};

}  // namespace basalt::jobsvc::testing
