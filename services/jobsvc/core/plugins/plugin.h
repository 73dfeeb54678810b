#pragma once

// A job plugin: a pure function of (job, template, arguments) to the objects that a job wants and to changes of its
// pods. It reads nothing, writes nothing and keeps nothing; the caller makes the world match (job spec 11).
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
    kLeave,  // An existing object is never changed.
    kPatch,  // An existing object whose recorded hash differs is patched with `patch`.
  };
  std::string plugin;
  std::string group;  // Empty for the core group.
  std::string version;
  std::string plural;
  std::string kind;
  std::string object_namespace;
  std::string name;
  std::string json;   // The whole object, owner reference included.
  std::string patch;  // JSON merge patch; only with kPatch.
  // Hash of the content that decides whether `patch` is due, for controlledResources. Never covers generated keys.
  std::string hash;
  OnChange on_change = OnChange::kLeave;
  bool needs_ssh_keys = false;  // `json` is complete only after WithSshKeys: keys are made only if none exist.
  size_t data_bytes = 0;        // Size of the values of a ConfigMap or Secret.

  // Returns "<plural>/<name>", by which ControlledState::objects names the object.
  std::string Key() const { return plural + "/" + name; }
};

// The most bytes that Kubernetes accepts as values of one ConfigMap or Secret.
inline constexpr size_t kMostDataBytes = size_t{1} << 20;

// Returns the object's JSON with the key pair. Requires: object.needs_ssh_keys.
std::string WithSshKeys(const WantedObject& object, const SshKeyPair& keys);

// A variable that a plugin sets in the containers of pods, unless their template sets it.
struct PodVariable {
  std::string name;
  std::string_view task = {};  // Task of the pods. Empty for every task.
  PodEdit::Containers containers = PodEdit::Containers::kNormal;
};

// A new plugin has default arguments. Read sets those of a job, once per change of the job. Immutable afterwards.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view Name() const = 0;
  // Returns the purpose of the plugin, in one sentence.
  virtual std::string_view Summary() const = 0;
  // Arguments that are not understood keep their defaults, and ArgumentComplaint names them (job spec 11.1).
  void Read(const PluginArguments& arguments);
  const std::string& ArgumentComplaint() const { return complaint_; }
  // Returns the arguments of the plugin with their present values, which are the defaults before Read.
  std::vector<FlagDescription> Flags();

  // Returns the objects in the order of their creation, which is also the order of their removal.
  virtual std::vector<WantedObject> Objects(const JobView&) const { return {}; }
  // Returns INVALID_ARGUMENT if no pod of this task can be made. The message states why.
  virtual absl::Status OnPod(PodEdit& pod) const = 0;
  // Returns INVALID_ARGUMENT if no container of the job could start. The message ends a sentence that begins with the
  // plugin.
  virtual absl::Status Check(const JobView&) const { return absl::OkStatus(); }
  // Returns what the job hardly intends, each as the end of a sentence that begins with the plugin. The plugin works
  // nevertheless.
  virtual std::vector<std::string> Doubts(const JobView&) const { return {}; }
  // Returns every variable that OnPod adds, once for each task at most. Valid as long as the plugin and the job.
  virtual std::vector<PodVariable> Variables(const JobView&) const { return {}; }
  // Returns whether the job's status names the plugin (PluginMarkerKey).
  virtual bool HasMarker() const { return true; }

 protected:
  // Defines every argument.
  virtual void Define(Arguments& arguments) = 0;

 private:
  std::string complaint_;
};

// The longest text "NAME=value" of a variable with which Linux starts a program: MAX_ARG_STRLEN less its end.
inline constexpr size_t kMostVariableBytes = (size_t{128} << 10) - 1;

// Returns INVALID_ARGUMENT if a variable with a value of this size is too long. The message ends a sentence that begins
// with the plugin, and contains `advice`.
absl::Status CheckVariable(std::string_view name, size_t value_bytes, std::string_view advice);

// status.controlledResources[PluginMarkerKey(name)] == name means that the plugin's objects exist (job spec 11.1).
std::string PluginMarkerKey(std::string_view plugin);

// Returns apiVersion, kind and metadata of an object that the job owns.
json::object OwnedObject(const JobView& job, std::string_view api_version, std::string_view kind,
                         std::string_view name);

}  // namespace basalt::jobsvc
