#pragma once

// What upstream's controllers leave in a cluster when they are stopped: Jobs with a full status, their pods, PodGroups
// under both names, and what plugins made. Written from the job spec's wire tables (1.6, 9.8, 9.10, 10, 11).
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

enum class LeftGroup { kNone, kNew, kOld };  // Under "<job>-<uid>", or under "<job>" as before Volcano 1.5.

struct LeftJob {
  std::string name;
  int replicas = 3;
  std::string policies = "[]";  // Of the spec, as JSON.
  bool plugins = false;         // svc and ssh, with their objects.
  std::string claim;            // The name that upstream gave to the claim of a volume.
  std::string status;           // As JSON.
  std::vector<LeftPod> pods;
  LeftGroup group = LeftGroup::kNew;
  std::string group_phase = "Running";
};

struct Planted {
  std::string uid;
  std::string group;  // Empty: none.
  std::string group_uid;
  std::map<std::string, std::string> uids;  // Of pods and objects, by their paths.
};

// Creates the job, what belongs to it, and their statuses. The UIDs are the server's.
Planted Plant(Kubernetes& kube, const LeftJob& job);

// The queues root and default, open.
void PlantQueues(Kubernetes& kube);

// A pod of no job, with the group that upstream made for it. Returns the group's name.
std::string PlantPlainPod(Kubernetes& kube, const std::string& name);

// What vcctl makes for `job suspend` and `job resume`.
void PlantCommand(Kubernetes& kube, const std::string& job, const std::string& uid, const std::string& action);

// {"state":{…},"conditions":[…]} for these phases, the last of them the present one.
std::string StatusOf(const std::vector<std::string>& phases, const std::string& more);

}  // namespace basalt::coexistence
