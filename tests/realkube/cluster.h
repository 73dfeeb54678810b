#pragma once

// A real Kubernetes of a test's own: kube-apiserver, etcd, kube-controller-manager and KWOK, started by
// scripts/realkube in a fresh folder on free loopback ports, with our definitions and the gateway's rights in it. Some
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
  std::string kubernetes;  // One of the versions that scripts/realkube has; empty: its default.
  int nodes = 4;
  std::string crds;  // Folder of definitions; empty: deploy/crds; "none".
  bool kwok = true;  // False: nobody runs the pods.
  bool kai = false;  // KAI's pod groups, too, and the gateway's rights on them and on owners of pods.
  int inflight = 1000;
  bool node = false;         // A real node, too, with images of pause and busybox; needs root.
  double goaway_chance = 0;  // Of an HTTP/2 connection being sent away after a request; at most 0.02.
};

// One request that ended, as the audit log has it: all of the gateway's, and every write of anybody but system parts.
struct AuditLine {
  std::string user, user_agent;
  std::string impersonated;  // The user in whose name `user` asked; empty: its own.
  std::string verb;          // create, update, patch, delete, deletecollection, get, list, watch
  std::string group, resource, subresource, ns, name;
  std::string uri;
  int code = 0;
  absl::Time received, answered;
  json::value body;  // What the gateway sent with a create or a patch, as the server read it; else null.
  bool Succeeded() const { return code >= 200 && code < 300; }
};

class Cluster {
 public:
  // UNAVAILABLE: it did not become ready; the message has the script's last lines.
  static absl::StatusOr<std::unique_ptr<Cluster>> Start(const ClusterOptions& options = {});
  ~Cluster();

  const std::string& dir() const { return dir_; }
  std::string kube_server() const { return server_; }  // https://127.0.0.1:port
  // A file for admin (everything), gateway (its ClusterRole only), actors or kwok.
  std::string kubeconfig(std::string_view who = "admin") const;
  // kubectl's output as admin; the error has what it said.
  absl::StatusOr<std::string> Kubectl(const std::vector<std::string>& arguments);

  // etcd, kube-apiserver, kube-controller-manager, kwok: kill -9, and a start on the same port and data until ready.
  absl::Status Kill(std::string_view program);
  absl::Status Stop(std::string_view program);  // In order: what it has answered is in the audit log.
  absl::Status Restart(std::string_view program);
  pid_t pid(std::string_view program) const;  // 0: it does not run.
  // Gives the archive of an image to the real node.
  absl::Status LoadImage(const std::string& archive);
  // Everything that was logged so far, in order.
  std::vector<AuditLine> Audit() const;

 private:
  Cluster() = default;

  testing::TempDir temp_;
  std::string dir_, server_;
};

// Where the definitions of "cert-manager" or "prometheus-operator" are. UNAVAILABLE: its module cannot be had.
absl::StatusOr<std::string> DefinitionsOf(const std::string& project);

}  // namespace basalt::realkube
