#pragma once

// Plants the objects that upstream's controllers leave in a cluster when they are stopped: Jobs with a full status,
// their pods, PodGroups under both names, and the objects of plugins. The fixtures follow the wire tables of the job
// spec (1.6, 9.8, 9.10, 10, 11).
#include <map>
#include <string>
#include <vector>

#include "tests/coexistence/kube.h"

namespace basalt::coexistence {

struct LeftPod {
  int index = 0;
  std::string phase;
  int version = 0;
  bool deleting = false;
};

enum class LeftGroup { kNone, kNew, kOld };  // Named "<job>-<uid>" (kNew), or "<job>" as before Volcano 1.5 (kOld).

struct LeftJob {
  std::string name;
  int replicas = 3;
  std::string policies = "[]";  // spec.policies, as JSON.
  bool plugins = false;         // The job has svc and ssh, with their objects.
  std::string claim;            // The name that upstream gave to the claim of a volume. Empty if the job has no volume.
  std::string status;           // As JSON.
  std::vector<LeftPod> pods;
  LeftGroup group = LeftGroup::kNew;
  std::string group_phase = "Running";
};

struct Planted {
  std::string uid;
  std::string group;  // Empty if no group was planted.
  std::string group_uid;
  std::map<std::string, std::string> uids;  // UIDs of pods and other objects, by their paths.
};

// Creates the job and its objects with their statuses. The server assigns the UIDs.
Planted Plant(Kubernetes& kube, const LeftJob& job);

// Creates the queues root and default, which are open.
void PlantQueues(Kubernetes& kube);

// Creates a pod without a job, with the group that upstream made for such a pod. Returns the group's name.
std::string PlantPlainPod(Kubernetes& kube, const std::string& name);

// Creates the Command that vcctl makes for `job suspend` or `job resume`.
void PlantCommand(Kubernetes& kube, const std::string& job, const std::string& uid, const std::string& action);

// Returns {"state":{…},"conditions":[…]} for these phases, of which the last is the present one. `more` is JSON that
// follows those members.
std::string StatusOf(const std::vector<std::string>& phases, const std::string& more);

}  // namespace basalt::coexistence
