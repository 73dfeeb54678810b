#include "services/jobsvc/api/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/kube/names.h"
#include "common/kube/text.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/render/validate.h"

namespace basalt::jobsvc {

namespace {

constexpr size_t kMaxErrors = 20;

// Reads members of an object by name; what has the wrong type or no meaning is named.
class Reader {
 public:
  std::vector<std::string>& errors() { return errors_; }

  void Fail(const std::string& path, std::string_view rule) {
    if (errors_.size() < kMaxErrors) errors_.push_back(fmt::format("{}: {}", path, rule));
  }
  const json::object* Object(const std::string& path, const json::value& value,
                             std::initializer_list<std::string_view> known) {
    if (!value.is_object()) {
      Fail(path, "must be an object");
      return nullptr;
    }
    for (const auto& member : value.as_object()) {
      const std::string_view key(member.key());
      if (known.size() > 0 && std::find(known.begin(), known.end(), key) == known.end()) {
        Fail(path + "." + std::string(key), "there is no such field");
      }
    }
    return &value.as_object();
  }
  std::string Text(const std::string& path, const json::object& object, std::string_view name) {
    const json::value* value = Member(object, name);
    if (value == nullptr) return {};
    if (!value->is_string()) {
      Fail(path + "." + std::string(name), "must be a string");
      return {};
    }
    return std::string(value->as_string());
  }
  std::optional<int32_t> Number(const std::string& path, const json::object& object, std::string_view name) {
    const json::value* value = Member(object, name);
    if (value == nullptr) return std::nullopt;
    const bool fits = value->is_int64() && value->as_int64() >= std::numeric_limits<int32_t>::min() &&
                      value->as_int64() <= std::numeric_limits<int32_t>::max();
    if (!fits) {
      Fail(path + "." + std::string(name), "must be a 32-bit integer");
      return std::nullopt;
    }
    return static_cast<int32_t>(value->as_int64());
  }
  void Each(const std::string& path, const json::object& object, std::string_view name,
            const std::function<void(const std::string&, const json::value&)>& visit) {
    const json::value* value = Member(object, name);
    if (value == nullptr) return;
    const std::string at = path + "." + std::string(name);
    if (!value->is_array()) return Fail(at, "must be a list");
    for (size_t i = 0; i < value->as_array().size(); ++i) visit(fmt::format("{}[{}]", at, i), value->as_array()[i]);
  }
  std::string Element(const std::string& path, const json::value& value) {
    if (value.is_string()) return std::string(value.as_string());
    Fail(path, "must be a string");
    return {};
  }
  // Absent and null are the same.
  static const json::value* Member(const json::object& object, std::string_view name) {
    const auto it = object.find(name);
    return it == object.end() || it->value().is_null() ? nullptr : &it->value();
  }

 private:
  std::vector<std::string> errors_;
};

void ReadTopology(Reader& reader, const std::string& path, const json::value& value, kube::v1::NetworkTopology& out) {
  const auto* in = reader.Object(path, value, {"mode", "highestTierAllowed", "highestTierName"});
  if (in == nullptr) return;
  out.set_mode(reader.Text(path, *in, "mode"));
  if (const auto tier = reader.Number(path, *in, "highestTierAllowed")) out.set_highest_tier_allowed(*tier);
  out.set_highest_tier_name(reader.Text(path, *in, "highestTierName"));
}

template <typename Owner>
void ReadPolicies(Reader& reader, const std::string& path, const json::object& object, Owner& owner) {
  reader.Each(path, object, "policies", [&](const std::string& at, const json::value& value) {
    const auto* in = reader.Object(at, value, {"action", "event", "events", "exitCode", "timeout"});
    if (in == nullptr) return;
    kube::v1::LifecyclePolicy& policy = *owner.add_policies();
    policy.set_action(reader.Text(at, *in, "action"));
    reader.Each(at, *in, "events", [&](const std::string& where, const json::value& event) {
      policy.add_events(reader.Element(where, event));
    });
    const std::string event = reader.Text(at, *in, "event");
    const auto& events = policy.events();
    if (!event.empty() && std::find(events.begin(), events.end(), event) == events.end()) policy.add_events(event);
    if (const auto code = reader.Number(at, *in, "exitCode")) policy.set_exit_code(*code);
    const std::string timeout = reader.Text(at, *in, "timeout");
    if (timeout.empty()) return;
    const auto duration = kube::ParseGoDuration(timeout);
    if (!duration.ok()) return reader.Fail(at + ".timeout", ToStd(duration.status().message()));
    policy.set_timeout_ms(absl::ToInt64Milliseconds(absl::Ceil(*duration, absl::Milliseconds(1))));
  });
}

void ReadTask(Reader& reader, const std::string& path, const json::value& value, kube::v1::TaskSpec& task) {
  const auto* in = reader.Object(path, value,
                                 {"name", "replicas", "minAvailable", "template", "policies", "topologyPolicy",
                                  "maxRetry", "dependsOn", "partitionPolicy"});
  if (in == nullptr) return;
  task.set_name(reader.Text(path, *in, "name"));
  task.set_replicas(reader.Number(path, *in, "replicas").value_or(0));
  if (const auto number = reader.Number(path, *in, "minAvailable")) task.set_min_available(*number);
  if (const auto number = reader.Number(path, *in, "maxRetry")) task.set_max_retry(*number);
  task.set_topology_policy(reader.Text(path, *in, "topologyPolicy"));
  if (const json::value* pod = Reader::Member(*in, "template")) {
    if (reader.Object(path + ".template", *pod, {}) != nullptr) task.set_template_json(ToText(*pod));
  }
  ReadPolicies(reader, path, *in, task);
  if (const json::value* depends = Reader::Member(*in, "dependsOn")) {
    const std::string at = path + ".dependsOn";
    if (const auto* members = reader.Object(at, *depends, {"name", "iteration"})) {
      task.mutable_depends_on()->set_iteration(reader.Text(at, *members, "iteration"));
      reader.Each(at, *members, "name", [&](const std::string& where, const json::value& name) {
        task.mutable_depends_on()->add_names(reader.Element(where, name));
      });
    }
  }
  if (const json::value* policy = Reader::Member(*in, "partitionPolicy")) {
    const std::string at = path + ".partitionPolicy";
    const auto* members =
        reader.Object(at, *policy, {"totalPartitions", "partitionSize", "minPartitions", "networkTopology"});
    if (members == nullptr) return;
    auto& out = *task.mutable_partition_policy();
    out.set_total_partitions(reader.Number(at, *members, "totalPartitions").value_or(0));
    out.set_partition_size(reader.Number(at, *members, "partitionSize").value_or(0));
    out.set_min_partitions(reader.Number(at, *members, "minPartitions").value_or(0));
    if (const json::value* topology = Reader::Member(*members, "networkTopology")) {
      ReadTopology(reader, at + ".networkTopology", *topology, *out.mutable_network_topology());
    }
  }
}

void ReadSpec(Reader& reader, const json::value& value, kube::v1::JobSpec& spec) {
  const std::string path = "spec";
  const auto* in = reader.Object(
      path, value,
      {"schedulerName", "minAvailable", "volumes", "tasks", "policies", "plugins", "runningEstimate", "queue",
       "maxRetry", "ttlSecondsAfterFinished", "priorityClassName", "minSuccess", "networkTopology"});
  if (in == nullptr) return;
  spec.set_scheduler_name(reader.Text(path, *in, "schedulerName"));
  spec.set_queue(reader.Text(path, *in, "queue"));
  spec.set_priority_class_name(reader.Text(path, *in, "priorityClassName"));
  spec.set_running_estimate(reader.Text(path, *in, "runningEstimate"));
  if (const auto number = reader.Number(path, *in, "minAvailable")) spec.set_min_available(*number);
  if (const auto number = reader.Number(path, *in, "maxRetry")) spec.set_max_retry(*number);
  if (const auto number = reader.Number(path, *in, "minSuccess")) spec.set_min_success(*number);
  if (const auto ttl = reader.Number(path, *in, "ttlSecondsAfterFinished")) spec.set_ttl_seconds_after_finished(*ttl);
  if (const json::value* topology = Reader::Member(*in, "networkTopology")) {
    ReadTopology(reader, "spec.networkTopology", *topology, *spec.mutable_network_topology());
  }
  reader.Each(path, *in, "volumes", [&](const std::string& at, const json::value& volume) {
    const auto* members = reader.Object(at, volume, {"mountPath", "volumeClaimName", "volumeClaim"});
    if (members == nullptr) return;
    auto& out = *spec.add_volumes();
    out.set_mount_path(reader.Text(at, *members, "mountPath"));
    out.set_volume_claim_name(reader.Text(at, *members, "volumeClaimName"));
    if (const json::value* claim = Reader::Member(*members, "volumeClaim")) out.set_volume_claim_json(ToText(*claim));
  });
  reader.Each(path, *in, "tasks",
              [&](const std::string& at, const json::value& task) { ReadTask(reader, at, task, *spec.add_tasks()); });
  ReadPolicies(reader, path, *in, spec);
  if (const json::value* plugins = Reader::Member(*in, "plugins")) {
    const auto* members = reader.Object("spec.plugins", *plugins, {});
    if (members == nullptr) return;
    for (const auto& member : *members) {
      auto& plugin = *spec.add_plugins();
      plugin.set_name(std::string(member.key()));
      if (!member.value().is_null()) {
        reader.Each(
            "spec.plugins", *members, std::string_view(member.key()),
            [&](const std::string& at, const json::value& word) { plugin.add_arguments(reader.Element(at, word)); });
      }
    }
    std::sort(spec.mutable_plugins()->begin(), spec.mutable_plugins()->end(),
              [](const auto& a, const auto& b) { return a.name() < b.name(); });
  }
}

void ReadTexts(Reader& reader, const json::object& metadata, std::string_view name,
               google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& out) {
  const json::value* value = Reader::Member(metadata, name);
  if (value == nullptr) return;
  const std::string path = fmt::format("metadata.{}", name);
  const auto* members = reader.Object(path, *value, {});
  if (members == nullptr) return;
  for (const auto& member : *members) {
    auto& entry = *out.Add();
    entry.set_key(std::string(member.key()));
    entry.set_value(reader.Element(path + "." + std::string(member.key()), member.value()));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.key() < b.key(); });
}

void ReadMeta(Reader& reader, const json::value& manifest, std::string_view ns, kube::v1::ObjectMeta& meta) {
  const json::value* value = Find(manifest, "metadata");
  const auto* in = value == nullptr ? nullptr : reader.Object("metadata", *value, {});
  if (in == nullptr) return reader.Fail("metadata.name", "is required");
  meta.set_name(reader.Text("metadata", *in, "name"));
  if (meta.name().empty()) reader.Fail("metadata.name", "is required");
  if (Reader::Member(*in, "generateName") != nullptr)
    reader.Fail("metadata.generateName", "is not supported; give a name");
  meta.set_namespace_(reader.Text("metadata", *in, "namespace"));
  if (!ns.empty() && !meta.namespace_().empty() && meta.namespace_() != ns) {
    reader.Fail("metadata.namespace", fmt::format("is {}, but {} was asked for", meta.namespace_(), ns));
  }
  if (meta.namespace_().empty()) meta.set_namespace_(ns.empty() ? "default" : std::string(ns));
  ReadTexts(reader, *in, "labels", *meta.mutable_labels());
  ReadTexts(reader, *in, "annotations", *meta.mutable_annotations());
}

// Writes the defaults into the manifest, so that what is stored is what was validated.
void WriteDefaults(const kube::v1::Job& job, json::object& manifest) {
  manifest["metadata"].as_object()["namespace"] = job.meta().namespace_();
  manifest.erase("status");
  const kube::v1::JobSpec& spec = job.spec();
  json::object& out = manifest["spec"].as_object();
  out["schedulerName"] = spec.scheduler_name();
  out["queue"] = spec.queue();
  out["maxRetry"] = spec.max_retry();
  out["minAvailable"] = spec.min_available();
  json::array& tasks = out["tasks"].as_array();
  for (int i = 0; i < spec.tasks_size(); ++i) {
    json::object& task = tasks[i].as_object();
    task["name"] = spec.tasks(i).name();
    if (spec.tasks(i).has_min_available()) task["minAvailable"] = spec.tasks(i).min_available();
    if (spec.tasks(i).has_max_retry()) task["maxRetry"] = spec.tasks(i).max_retry();
  }
  for (const auto& plugin : spec.plugins()) {
    json::value& plugins = out["plugins"];
    if (!plugins.is_object()) plugins = json::object();
    if (!plugins.as_object().contains(plugin.name())) plugins.as_object()[plugin.name()] = json::array();
  }
}

}  // namespace

absl::StatusOr<Manifest> ReadManifest(std::string_view text, std::string_view ns) {
  auto parsed = ParseJson(text);
  if (!parsed.ok()) return parsed.status();
  Reader reader;
  Manifest manifest;
  const auto* top = reader.Object("manifest", *parsed, {"apiVersion", "kind", "metadata", "spec", "status"});
  if (top == nullptr) return MakeStatus(absl::StatusCode::kInvalidArgument, reader.errors().front());
  if (FindString(*parsed, "apiVersion") != kube::kJobApiVersion) {
    reader.Fail("apiVersion", fmt::format("must be {}", kube::kJobApiVersion));
  }
  if (FindString(*parsed, "kind") != "Job") reader.Fail("kind", "must be Job");
  ReadMeta(reader, *parsed, ns, *manifest.job.mutable_meta());
  if (const json::value* spec = Find(*parsed, "spec")) {
    ReadSpec(reader, *spec, *manifest.job.mutable_spec());
  } else {
    reader.Fail("spec", "is required");
  }
  if (reader.errors().empty()) {
    *manifest.job.mutable_spec() = EffectiveSpec(manifest.job);
    const Validation validation =
        ValidateJob(manifest.job.spec(), manifest.job.meta().name(), manifest.job.meta().namespace_());
    for (const Violation& violation : validation.violations) reader.errors().push_back(violation.message);
    for (const Violation& warning : validation.warnings) manifest.warnings.push_back(warning.message);
  }
  if (!reader.errors().empty()) {
    std::string message;
    for (const std::string& error : reader.errors()) message += (message.empty() ? "" : "\n") + error;
    return MakeStatus(absl::StatusCode::kInvalidArgument, message);
  }
  json::object stored = parsed->as_object();
  WriteDefaults(manifest.job, stored);
  manifest.json = ToText(stored);
  return manifest;
}

}  // namespace basalt::jobsvc
