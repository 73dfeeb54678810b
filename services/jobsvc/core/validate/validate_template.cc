// Pod templates: job spec C8 and C9. Contains those rules of Kubernetes without which every pod would fail for good.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "common/base/excerpt.h"
#include "common/kube/name_rules.h"
#include "common/kube/names.h"
#include "common/kube/resources/resources.h"
#include "services/jobsvc/core/plugins/job_view.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/validate/validate_rules.h"

namespace basalt::jobsvc {
namespace {

constexpr size_t kMaxAnnotations = 256 * 1024;
constexpr int64_t kMaxPort = 65535;

std::string_view ToStd(json::string_view s) { return {s.data(), s.size()}; }

const json::array& ListOf(const json::value& holder, std::string_view name) {
  static const auto& kNone = *new json::array();
  const json::value* found = Find(holder, name);
  return found != nullptr && found->is_array() ? found->get_array() : kNone;
}

// The template of one task, whose shape MakeJobView has accepted.
class TemplateRules {
 public:
  TemplateRules(Checker& checker, int task, const json::value& pod_template)
      : checker_(checker),
        field_(TaskField(task, ".template")),
        template_(pod_template),
        spec_(*Find(template_, "spec")),
        plugin_paths_(PathsOfPlugins(checker.spec)) {}

  void Run() {
    Metadata();
    RestartPolicy(spec_, field_ + ".spec");
    Volumes();
    if (ListOf(spec_, "containers").empty()) {
      checker_.Add(ViolationKind::kRequired, field_ + ".spec.containers", "is empty; name at least one container");
    }
    for (const std::string_view list : {"initContainers", "containers"}) Containers(list);
    Quantities(spec_, field_ + ".spec.resources");
  }

 private:
  void Invalid(std::string field, std::string_view what) {
    checker_.Add(ViolationKind::kInvalid, std::move(field), what);
  }

  void Metadata() {
    const json::value* metadata = Find(template_, "metadata");
    if (metadata == nullptr) return;
    const std::string field = field_ + ".metadata";
    if (const json::value* labels = Find(*metadata, "labels"); labels != nullptr && labels->is_object()) {
      for (const json::key_value_pair& label : labels->get_object()) {
        Key(field + ".labels", ToStd(label.key()));
        const bool valid = label.value().is_string() && kube::IsLabelValue(ToStd(label.value().get_string()));
        if (!valid) {
          Invalid(fmt::format("{}.labels[{}]", field, ToStd(label.key())),
                  "is no label value; use up to 63 of A-Z, a-z, 0-9, '-', '_', '.', alphanumeric at both ends");
        }
      }
    }
    size_t bytes = 0;
    if (const json::value* annotations = Find(*metadata, "annotations");
        annotations != nullptr && annotations->is_object()) {
      for (const json::key_value_pair& annotation : annotations->get_object()) {
        Key(field + ".annotations", ToStd(annotation.key()));
        const std::string_view key = ToStd(annotation.key());
        if (key == kube::kGroupNameKey || key == kube::kVolcanoGroupNameKey) {
          checker_.Warn(fmt::format("{}.annotations[{}]", field, key),
                        "is ignored: pods of a job belong to the pod group of the job");
        }
        if (!annotation.value().is_string()) {
          Invalid(fmt::format("{}.annotations[{}]", field, ToStd(annotation.key())), "is no text; quote it");
          continue;
        }
        bytes += annotation.key().size() + annotation.value().get_string().size();
      }
    }
    if (bytes > kMaxAnnotations) {
      Invalid(field + ".annotations",
              fmt::format("take {} bytes; Kubernetes keeps at most {}", bytes, kMaxAnnotations));
    }
  }

  void Key(const std::string& field, std::string_view key) {
    if (kube::IsQualifiedKey(key)) return;
    Invalid(field, fmt::format("has the key '{}'; use an optional domain and '/', then up to 63 of A-Z, a-z, 0-9, '-', "
                               "'_', '.', alphanumeric at both ends",
                               Excerpt(key)));
  }

  void RestartPolicy(const json::value& holder, const std::string& field) {
    const json::value* policy = Find(holder, "restartPolicy");
    if (policy == nullptr || policy->is_null()) return;
    const std::string_view text = FindString(holder, "restartPolicy");
    if (text == "Always" || text == "OnFailure" || text == "Never") return;
    Invalid(field + ".restartPolicy", fmt::format("is {}; use Always, OnFailure or Never", ToText(*policy)));
  }

  void Volumes() {
    for (const std::string_view plugin : {"svc", "ssh"}) {
      if (FindPlugin(checker_.spec, plugin) != nullptr) volumes_.insert(fmt::format("{}-{}", checker_.name, plugin));
    }
    const json::array& volumes = ListOf(spec_, "volumes");
    for (size_t i = 0; i < volumes.size(); ++i) {
      const std::string field = fmt::format("{}.spec.volumes[{}].name", field_, i);
      const std::string_view name = FindString(volumes[i], "name");
      if (!kube::IsDnsLabel(name)) Invalid(field, fmt::format("'{}' is no DNS label (a-z, 0-9, '-')", name));
      if (!volumes_.insert(std::string(name)).second) {
        checker_.Add(ViolationKind::kDuplicate, field,
                     fmt::format("'{}' names two volumes (those of plugins count); rename one", name));
      }
    }
  }

  void Containers(std::string_view list) {
    const bool init = list == "initContainers";
    const json::array& containers = ListOf(spec_, list);
    for (size_t i = 0; i < containers.size(); ++i) {
      const json::value& container = containers[i];
      const std::string field = fmt::format("{}.spec.{}[{}]", field_, list, i);
      const std::string_view name = FindString(container, "name");
      if (!kube::IsDnsLabel(name)) {
        Invalid(field + ".name", fmt::format("'{}' is no DNS label: up to 63 of a-z, 0-9, '-'", name));
      } else if (!containers_.insert(name).second) {
        checker_.Add(ViolationKind::kDuplicate, field + ".name",
                     fmt::format("'{}' names two containers; rename one", name));
      }
      if (FindString(container, "image").empty()) {
        checker_.Add(ViolationKind::kRequired, field + ".image", "is empty; name an image");
      }
      if (init) RestartPolicy(container, field);
      Environment(container, field);
      Ports(container, field);
      Mounts(container, field, init);
      Quantities(container, field + ".resources");
    }
  }

  void Environment(const json::value& container, const std::string& field) {
    const json::array& env = ListOf(container, "env");
    for (size_t i = 0; i < env.size(); ++i) {
      const std::string_view name = FindString(env[i], "name");
      if (kube::IsEnvName(name)) continue;
      Invalid(fmt::format("{}.env[{}].name", field, i),
              fmt::format("'{}' is no variable name; use printable ASCII without '='", name));
    }
  }

  void Ports(const json::value& container, const std::string& field) {
    const json::array& ports = ListOf(container, "ports");
    for (size_t i = 0; i < ports.size(); ++i) {
      const int64_t port = FindInt(ports[i], "containerPort");
      if (port >= 1 && port <= kMaxPort) continue;
      Invalid(fmt::format("{}.ports[{}].containerPort", field, i), fmt::format("is {}; use 1 to {}", port, kMaxPort));
    }
  }

  void Mounts(const json::value& container, const std::string& field, bool init) {
    std::set<std::string_view> paths(plugin_paths_.begin(), plugin_paths_.end());
    if (!init) {
      for (const kube::v1::VolumeSpec& volume : checker_.spec.volumes()) paths.insert(volume.mount_path());
    }
    const json::array& mounts = ListOf(container, "volumeMounts");
    for (size_t i = 0; i < mounts.size(); ++i) {
      const std::string at = fmt::format("{}.volumeMounts[{}]", field, i);
      const std::string_view volume = FindString(mounts[i], "name");
      const std::string_view path = FindString(mounts[i], "mountPath");
      if (!volumes_.contains(std::string(volume))) {
        checker_.Add(ViolationKind::kNotFound, at + ".name",
                     fmt::format("'{}' is no volume of this pod; add it to spec.volumes of the template", volume));
      }
      if (path.empty()) {
        checker_.Add(ViolationKind::kRequired, at + ".mountPath", "is empty; give a path");
      } else if (!paths.insert(path).second) {
        checker_.Add(
            ViolationKind::kDuplicate, at + ".mountPath",
            fmt::format("'{}' is mounted twice (volumes of the job and of plugins count); use another path", path));
      }
    }
  }

  void Quantities(const json::value& holder, const std::string& field) {
    const json::value* resources = Find(holder, "resources");
    if (resources == nullptr || resources->is_null()) return;
    kube::ResourceMap maps[2];
    const std::array<std::string_view, 2> names = {"requests", "limits"};
    for (size_t i = 0; i < names.size(); ++i) {
      const auto map = kube::ResourceMapFromJson(Find(*resources, names[i]), names[i]);
      if (!map.ok()) {
        Invalid(field, fmt::format("cannot be read: {}; write for example 500m or 2Gi",
                                   std::string_view(map.status().message().data(), map.status().message().size())));
        continue;
      }
      maps[i] = *map;
      for (const auto& [name, value] : maps[i]) {
        if (value.IsNegative()) Invalid(fmt::format("{}.{}.{}", field, names[i], name), "is negative; use 0 or more");
      }
    }
    for (const auto& [name, limit] : maps[1]) {
      const auto request = maps[0].find(name);
      if (request == maps[0].end() || request->second <= limit) continue;
      Invalid(
          fmt::format("{}.requests.{}", field, name),
          fmt::format("is {}, above its limit {}; lower it or raise the limit", request->second.Text(), limit.Text()));
    }
  }

  Checker& checker_;
  const std::string field_;
  const json::value& template_;
  const json::value& spec_;
  const std::vector<std::string> plugin_paths_;
  std::set<std::string> volumes_;
  std::set<std::string_view> containers_;
};

}  // namespace

void CheckTemplate(Checker& checker, int task) {
  const absl::StatusOr<json::value>& parsed = checker.templates[task];
  if (checker.spec.tasks(task).template_json().empty()) {
    checker.Add(ViolationKind::kRequired, TaskField(task, ".template"), "is missing; say which pods the task makes");
    return;
  }
  if (!parsed.ok()) {
    checker.Add(ViolationKind::kInvalid, TaskField(task, ".template"),
                fmt::format("is no pod template: {}",
                            std::string_view(parsed.status().message().data(), parsed.status().message().size())));
    return;
  }
  const absl::Status shape = CheckTemplateShape(*parsed, TaskField(task, ".template"));
  if (!shape.ok()) {
    checker.Add(
        ViolationKind::kInvalid, TaskField(task, ".template"),
        fmt::format("is no pod template: {}", std::string_view(shape.message().data(), shape.message().size())));
    return;
  }
  TemplateRules(checker, task, *parsed).Run();
}

void CheckTopologyPolicy(Checker& checker, int task) {
  const std::string& policy = checker.spec.tasks(task).topology_policy();
  if (policy.empty() || policy == "none" || !checker.templates[task].ok()) return;
  const json::value* spec = Find(*checker.templates[task], "spec");
  if (spec == nullptr) return;
  for (const std::string_view list : {"initContainers", "containers"}) {
    const json::array& containers = ListOf(*spec, list);
    for (size_t i = 0; i < containers.size(); ++i) {
      const json::value* resources = Find(containers[i], "resources");
      const json::value* requests = resources == nullptr ? nullptr : Find(*resources, "requests");
      const bool has_requests = requests != nullptr && requests->is_object() && !requests->get_object().empty();
      const json::value* from = has_requests || resources == nullptr ? requests : Find(*resources, "limits");
      const json::value* cpu = from == nullptr ? nullptr : Find(*from, "cpu");
      const auto quantity =
          cpu == nullptr ? absl::StatusOr<kube::Quantity>(kube::Quantity()) : kube::QuantityFromJson(*cpu);
      const bool whole = quantity.ok() && !quantity->IsZero() && !quantity->IsNegative() &&
                         kube::Quantity::OfInt(quantity->Value()) == *quantity;
      if (whole) continue;
      checker.Add(ViolationKind::kInvalid,
                  TaskField(task, fmt::format(".template.spec.{}[{}].resources.requests.cpu", list, i)),
                  fmt::format("must be a whole number of CPUs, 1 or more, because topologyPolicy is {}", policy));
    }
  }
}

}  // namespace basalt::jobsvc
