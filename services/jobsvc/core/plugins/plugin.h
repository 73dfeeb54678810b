#pragma once

// A job plugin: a pure function of (job, template, arguments) to the objects a job wants and to changes of its pods. It
// reads nothing, writes nothing and keeps nothing; who calls it makes the world match (job spec 11).
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "services/jobsvc/core/plugins/arguments.h"
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
  bool needs_ssh_keys = false;  // `json` is complete only after WithSshKeys: keys are made only where none exist.
  size_t data_bytes = 0;        // Of the values of a ConfigMap or Secret.

  // "<plural>/<name>", as ControlledState::objects names the object.
  std::string Key() const { return plural + "/" + name; }
};

// So many bytes the values of one ConfigMap or Secret have at most, for Kubernetes.
inline constexpr size_t kMostDataBytes = size_t{1} << 20;

// The object's JSON with the key pair in it. Requires: object.needs_ssh_keys.
std::string WithSshKeys(const WantedObject& object, const SshKeyPair& keys);

// A variable that a plugin sets in the containers of pods, unless their template sets it.
struct PodVariable {
  std::string name;
  std::string_view task = {};  // Of the pods. Empty: of every task.
  PodEdit::Containers containers = PodEdit::Containers::kNormal;
};

// Made without arguments it has the defaults; Read gives it those of a job, once per change of the job. Immutable
// afterwards.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view Name() const = 0;
  // The purpose of the plugin, in one sentence.
  virtual std::string_view Summary() const = 0;
  // Arguments that are not understood keep their defaults; ArgumentComplaint tells of them (job spec 11.1).
  void Read(const PluginArguments& arguments);
  const std::string& ArgumentComplaint() const { return complaint_; }
  // The arguments that the plugin takes, with the values that it has now: before Read the defaults.
  std::vector<FlagDescription> Flags();

  // In the order in which they are created; removal goes the same way.
  virtual std::vector<WantedObject> Objects(const JobView&) const { return {}; }
  // INVALID_ARGUMENT: no pod of this task can be made; says why.
  virtual absl::Status OnPod(PodEdit& pod) const = 0;
  // INVALID_ARGUMENT: no container of the job could start; the end of a sentence that begins with the plugin.
  virtual absl::Status Check(const JobView&) const { return absl::OkStatus(); }
  // What the job hardly means, each as the end of a sentence that begins with the plugin. The plugin runs nevertheless.
  virtual std::vector<std::string> Doubts(const JobView&) const { return {}; }
  // Every variable that OnPod adds, at most once for each task. Valid as long as the plugin and the job.
  virtual std::vector<PodVariable> Variables(const JobView&) const { return {}; }
  // Whether the job's status names the plugin (PluginMarkerKey).
  virtual bool HasMarker() const { return true; }

 protected:
  // Defines every argument.
  virtual void Define(Arguments& arguments) = 0;

 private:
  std::string complaint_;
};

// The longest text of a variable, "NAME=value", with which Linux starts a program: MAX_ARG_STRLEN less its end.
inline constexpr size_t kMostVariableBytes = (size_t{128} << 10) - 1;

// INVALID_ARGUMENT where a variable whose value has so many bytes is too long: the end of a sentence that begins with
// the plugin, and `advice`.
absl::Status CheckVariable(std::string_view name, size_t value_bytes, std::string_view advice);

// status.controlledResources[PluginMarkerKey(name)] == name says that the plugin's objects exist (job spec 11.1).
std::string PluginMarkerKey(std::string_view plugin);

// apiVersion, kind and metadata of an object owned by the job.
json::object OwnedObject(const JobView& job, std::string_view api_version, std::string_view kind,
                         std::string_view name);

}  // namespace basalt::jobsvc
