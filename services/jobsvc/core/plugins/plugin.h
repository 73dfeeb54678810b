#pragma once

// A job plugin: a pure function of (job, template, arguments) to the objects a job wants and to changes of its pods. It
// reads nothing, writes nothing and keeps nothing; who calls it makes the world match (job spec 11).
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "services/jobsvc/core/plugins/job_view.h"
#include "services/jobsvc/core/plugins/pod_edit.h"

namespace basalt::jobsvc {

struct SshKeyPair {
  std::string private_pem;     // PKCS#1, "RSA PRIVATE KEY".
  std::string public_openssh;  // One line, newline-terminated.
};

// An API object that a plugin wants to exist while the job is not fully killed.
struct WantedObject {
  enum class OnChange {
    kLeave,  // An existing one is never changed.
    kPatch,  // An existing one whose recorded hash differs takes `patch`.
  };
  std::string plugin;
  std::string group;  // Empty = core.
  std::string version;
  std::string plural;
  std::string kind;
  std::string object_namespace;
  std::string name;
  std::string json;   // The whole object, owner reference included.
  std::string patch;  // JSON merge patch; only with kPatch.
  std::string hash;   // Of what decides whether `patch` is due: for controlledResources. Never covers generated keys.
  OnChange on_change = OnChange::kLeave;
  bool keep_on_restart = false;  // A kill that leads to a restart leaves it alone.
  bool needs_ssh_keys = false;   // `json` is complete only after WithSshKeys: keys are made only where none exist.
  size_t data_bytes = 0;         // Of the values of a ConfigMap or Secret.

  // "<plural>/<name>", as ControlledState::objects names the object.
  std::string Key() const { return plural + "/" + name; }
};

// So many bytes the values of one ConfigMap or Secret have at most, for Kubernetes.
inline constexpr size_t kMostDataBytes = size_t{1} << 20;

// The object's JSON with the key pair in it. Requires: object.needs_ssh_keys.
std::string WithSshKeys(const WantedObject& object, const SshKeyPair& keys);

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view Name() const = 0;
  // In the order in which they are created; removal goes the same way.
  virtual std::vector<WantedObject> Objects(const JobView& job) const = 0;
  // INVALID_ARGUMENT: no pod of this task can be made; says why.
  virtual absl::Status OnPod(PodEdit& pod) const = 0;
  // What the arguments' parser stumbled over; empty = nothing. The plugin runs nevertheless (job spec 11.1).
  const std::string& ArgumentComplaint() const { return complaint_; }

 protected:
  std::string complaint_;
};

// status.controlledResources[PluginMarkerKey(name)] == name says that the plugin's objects exist (job spec 11.1).
std::string PluginMarkerKey(std::string_view plugin);

// apiVersion, kind and metadata of an object owned by the job.
json::object OwnedObject(const JobView& job, std::string_view api_version, std::string_view kind,
                         std::string_view name);

}  // namespace basalt::jobsvc
