#pragma once

// A Kubernetes for these tests. The tests change its objects as a person, a kubelet and another job controller would.
// No scheduler and no node acts here: the test writes every phase of a pod or a group.
//
// Thread-compatible: one thread uses an object. A request that fails is a gtest failure.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/preflight/kube_api.h"
#include "common/base/json.h"
#include "dev/process_suite.h"

namespace basalt::coexistence {

// A request of the suite that changed an object or was refused.
struct Write {
  std::string verb;  // create, update, patch, delete, deletecollection
  std::string resource, subresource, name;
  int code = 0;
  std::string Text() const;
};

class Kubernetes {
 public:
  virtual ~Kubernetes() = default;
  virtual dev::ExternalKube Access() const = 0;
  // The writes of the suite since it started, without Events.
  virtual std::vector<Write> AllWrites() = 0;

  std::vector<Write> Writes();  // Returns the writes since the last Mark().
  void Mark() { mark_ = AllWrites().size(); }
  // Returns the writes since the last Mark() that name this object, or one whose name begins with "<name>-".
  std::vector<std::string> WritesOf(std::string_view name);

  json::value Create(const std::string& path, const json::value& object);
  json::value Get(const std::string& path);  // Returns null if the object does not exist.
  std::vector<json::value> List(const std::string& path);
  json::value Merge(const std::string& path, const json::value& patch);
  void Delete(const std::string& path, bool at_once);

  // ---- short forms ----
  std::string PhaseOf(const std::string& job);
  // Writes the phase into the status of the pod, as a kubelet does.
  void SetPodPhase(const std::string& pod, const std::string& phase, int exit_code = 0);
  void SetGroupPhase(const std::string& group, const std::string& phase);

 private:
  cli::KubeApi& api();
  cli::KubeAnswer Call(const std::string& method, const std::string& path, const json::value& body);

  std::unique_ptr<cli::KubeApi> api_;
  size_t mark_ = 0;
};

// The binary that links this decides which implementation starts.
std::unique_ptr<Kubernetes> StartKubernetes(const std::string& dir);

std::string JobPath(std::string_view name = "");
std::string PodPath(std::string_view name = "");
std::string GroupPath(std::string_view name = "");

}  // namespace basalt::coexistence
