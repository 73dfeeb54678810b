#pragma once

// A real Kubernetes of a test's own: kube-apiserver, etcd, kube-controller-manager and KWOK. scripts/realkube starts
// them in a fresh folder on free loopback ports, with our definitions and the gateway's rights. The start takes about
// seven seconds.
//
// One thread. The destructor ends every program and removes the folder.
#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/json.h"
#include "common/testing/temp_dir.h"

namespace basalt::realkube {

struct ClusterOptions {
  std::string kubernetes;  // One of the versions that scripts/realkube has. If empty, the script's default.
  int nodes = 4;
  std::string crds;  // The folder of definitions, or "none". If empty, deploy/crds.
  bool kwok = true;  // If false, no program runs the pods.
  bool kai = false;  // The cluster has KAI's pod groups, and the gateway has rights on them and on owners of pods.
  int inflight = 1000;
  bool node = false;         // The cluster has a real node, too, with the images of pause and busybox. This needs root.
  double goaway_chance = 0;  // The chance that the server closes an HTTP/2 connection after a request. At most 0.02.
};

// A request that has ended, from the audit log. The log has all requests of the gateway, and the writes of all users
// except system components.
struct AuditLine {
  std::string user, user_agent;
  std::string impersonated;  // The user that `user` impersonated. Empty if none.
  std::string verb;          // create, update, patch, delete, deletecollection, get, list, watch
  std::string group, resource, subresource, ns, name;
  std::string uri;
  int code = 0;
  absl::Time received, answered;
  json::value body;  // The body of a create or a patch of the gateway, as the server read it. Otherwise null.
  bool Succeeded() const { return code >= 200 && code < 300; }
};

class Cluster {
 public:
  // Returns UNAVAILABLE if the cluster did not become ready. The message has the script's last lines.
  static absl::StatusOr<std::unique_ptr<Cluster>> Start(const ClusterOptions& options = {});
  ~Cluster();

  const std::string& dir() const { return dir_; }
  std::string kube_server() const { return server_; }  // https://127.0.0.1:port
  // Returns a file for admin (every right), gateway (only its ClusterRole), actors or kwok.
  std::string kubeconfig(std::string_view who = "admin") const;
  // Returns kubectl's output as admin. The message of an error has kubectl's output, too.
  absl::StatusOr<std::string> Kubectl(const std::vector<std::string>& arguments);

  // `program` is etcd, kube-apiserver, kube-controller-manager or kwok.
  absl::Status Kill(std::string_view program);  // Sends SIGKILL.
  // Stops the program in order: the audit log has every request that the server has answered.
  absl::Status Stop(std::string_view program);
  // Starts the program on the same port and data, and waits until it is ready.
  absl::Status Restart(std::string_view program);
  pid_t pid(std::string_view program) const;  // 0 if the program does not run.
  // Loads the archive of an image into the real node.
  absl::Status LoadImage(const std::string& archive);
  // Returns all requests that were logged so far, in order.
  std::vector<AuditLine> Audit() const;

 private:
  Cluster() = default;

  testing::TempDir temp_;
  std::string dir_, server_;
};

// Returns the folder of the definitions of "cert-manager" or "prometheus-operator". Returns UNAVAILABLE if Go cannot
// download the project's module.
absl::StatusOr<std::string> DefinitionsOf(const std::string& project);

}  // namespace basalt::realkube
