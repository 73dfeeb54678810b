#pragma once

// The nodes of a simulated cluster: registers Node objects, runs the pods that are bound to them (PodRun) and reports
// their states as kubelet does. The actor is a plain API client, for kubesim in memory, for kubesim over HTTP and for a
// real API server.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kubesim/actors/client/api.h"
#include "kubesim/actors/client/informer.h"
#include "kubesim/actors/node/pod_run.h"

namespace basalt::actors {

struct NodeActorOptions {
  int nodes = 4;
  std::string prefix = "node-";
  std::string cpu = "64", memory = "256Gi", pods = "1000";
  std::map<std::string, std::string> labels;
  absl::Duration default_duration = absl::Seconds(2);
  int default_exit_code = 0;
  absl::Duration start_delay = absl::ZeroDuration();   // Time from the binding to the start of the first container.
  std::map<std::string, absl::Duration> clocks_ahead;  // By node. The clocks of other nodes are right.
  ApiOptions api;
};

// Confined to one loop. `pods` is an informer of all pods, or of the pods of these nodes. The owner starts the informer
// after this object has been constructed.
class NodeActor : private InformerListener {
 public:
  NodeActor(Loop& loop, http::Client& client, Random& random, Informer& pods, NodeActorOptions options);
  ~NodeActor() override;

  // Registers the nodes. Pods run whether or not the nodes are registered.
  void Start();

  // Cuts the node off: its Ready condition becomes Unknown (as the node controller would write it), and no change of
  // its pods is reported until RestoreNode(). Containers run on meanwhile.
  void LoseNode(const std::string& name);
  void RestoreNode(const std::string& name);

  // Calls PodRun::Disrupt for the pod "namespace/name". Returns false also if these nodes do not have the pod.
  bool DisruptPod(const std::string& key, const std::string& reason);
  // Calls PodRun::Evict for the pod "namespace/name". Returns false also if these nodes do not have the pod.
  bool EvictPod(const std::string& key);

  std::vector<std::string> names() const;
  size_t pods() const { return pods_.size(); }
  // Returns whether no write is in flight or queued.
  bool idle() const { return api_.in_flight() == 0 && api_.queued() == 0; }

 private:
  struct Node {
    int index = 0;
    std::string name, ip;
    bool lost = false;
    uint32_t addresses = 0;
  };
  struct Pod {
    std::string space, name, uid;
    Node* node = nullptr;
    std::unique_ptr<PodRun> run;
    TimerId timer = kNoTimer;
    bool dirty = false;
    bool writing = false;
    bool removing = false;
    int refusals = 0;
  };

  void OnObject(const json::value& object) override;
  void OnGone(const ObjectName& gone) override;
  void OnSynced() override {}

  void Register(Node& node);
  void WriteNodeStatus(Node& node);
  void Tick(const std::string& key);
  void Flush(const std::string& key);
  void WriteStatus(const std::string& key, Pod& pod);
  void Remove(const std::string& key, Pod& pod);
  void TryAgain(const std::string& key, Pod& pod);
  // Returns the pod of this key. Null if it is gone or has another UID.
  Pod* Current(const std::string& key, const std::string& uid);
  void Arm(const std::string& key, Pod& pod, absl::Time when);

  Loop& loop_;
  const NodeActorOptions options_;
  Api api_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, Pod> pods_;  // By namespace/name.
};

}  // namespace basalt::actors

namespace basalt::kubesim {
using actors::NodeActor;
using actors::NodeActorOptions;
}  // namespace basalt::kubesim
