#include "services/jobsvc/api/manifest.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/excerpt.h"
#include "common/base/json.h"
#include "common/base/status_macros.h"
#include "common/kube/decode/decode_job.h"
#include "common/kube/names.h"
#include "common/rpc/error_details.h"

namespace basalt::jobsvc {

namespace {

constexpr size_t kMaxBytes = 3 << 20;  // The most that an API server takes in one request.

// Returns null both if the member is absent and if it is JSON null.
const json::value* Member(const json::value& manifest, std::initializer_list<std::string_view> path) {
  const json::value* value = FindPath(manifest, path);
  return value == nullptr || value->is_null() ? nullptr : value;
}

// Checks everything that the decoder cannot know: the members that a Job needs, and the namespace in which it is to be
// created.
void CheckTop(const json::value& manifest, std::string_view ns, kube::DecodedJob& decoded) {
  const auto fail = [&](std::string_view field, std::string_view rule) {
    decoded.errors.push_back(fmt::format("{}: {}", field, rule));
  };
  if (decoded.api_version != kube::kJobApiVersion) fail("apiVersion", fmt::format("must be {}", kube::kJobApiVersion));
  if (decoded.kind != "Job") fail("kind", "must be Job");
  if (Member(manifest, {"spec"}) == nullptr) fail("spec", "is required");
  kube::v1::ObjectMeta& meta = *decoded.job.mutable_meta();
  const json::value* name = Member(manifest, {"metadata", "name"});
  // The decoder has reported a type other than string already.
  if (name == nullptr || (name->is_string() && name->get_string().empty())) fail("metadata.name", "is required");
  if (Member(manifest, {"metadata", "generateName"}) != nullptr) {
    fail("metadata.generateName", "is not supported; give a name");
  }
  if (!ns.empty() && !meta.namespace_().empty() && meta.namespace_() != ns) {
    fail("metadata.namespace", fmt::format("is {}, but {} was asked for", Excerpt(meta.namespace_()), Excerpt(ns)));
  }
  if (meta.namespace_().empty()) meta.set_namespace_(ns.empty() ? "default" : std::string(ns));
}

absl::Status InvalidManifest(std::string_view rule) {
  return rpc::InvalidFields({{"manifest_json", fmt::format("manifest: {}", rule)}});
}

// Returns the violations for errors of a decoder, which are "<field>: <rule>" each.
std::vector<rpc::FieldViolation> FieldsOf(const std::vector<std::string>& errors) {
  std::vector<rpc::FieldViolation> fields;
  for (const std::string& error : errors) fields.push_back({error.substr(0, error.find(": ")), error});
  return fields;
}

void WriteWord(json::value* member, std::string_view (*wire)(std::string_view)) {
  if (member == nullptr || !member->is_string()) return;
  const std::string word(member->get_string());
  if (const std::string_view wired = wire(word); wired != word) *member = wired;
}

// Rewrites events and iterations of the job or of a task in the form that every definition knows: a definition that is
// not ours knows no other.
void WriteWords(json::object& owner) {
  if (json::value* const policies = owner.if_contains("policies"); policies != nullptr && policies->is_array()) {
    for (json::value& policy : policies->get_array()) {
      if (!policy.is_object()) continue;
      WriteWord(policy.get_object().if_contains("event"), kube::WireEvent);
      json::value* const events = policy.get_object().if_contains("events");
      if (events == nullptr || !events->is_array()) continue;
      for (json::value& event : events->get_array()) WriteWord(&event, kube::WireEvent);
    }
  }
  json::value* const depends_on = owner.if_contains("dependsOn");
  if (depends_on == nullptr || !depends_on->is_object()) return;
  WriteWord(depends_on->get_object().if_contains("iteration"), kube::WireIteration);
}

// Writes the defaults into the manifest, so that what is stored is what was validated.
void WriteDefaults(const kube::v1::Job& job, json::object& manifest) {
  manifest["metadata"].as_object()["namespace"] = job.meta().namespace_();
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
    if (spec.tasks(i).has_partition_policy()) {
      task["partitionPolicy"].as_object()["totalPartitions"] = spec.tasks(i).partition_policy().total_partitions();
    }
    WriteWords(task);
  }
  WriteWords(out);
  for (const auto& plugin : spec.plugins()) {
    json::value& plugins = out["plugins"];
    if (!plugins.is_object()) plugins = json::object();
    if (!plugins.as_object().contains(plugin.name())) plugins.as_object()[plugin.name()] = json::array();
  }
}

}  // namespace

absl::Status InvalidSpec(const std::vector<Violation>& violations) {
  std::vector<rpc::FieldViolation> fields;
  for (const Violation& violation : violations) fields.push_back({violation.field, violation.message});
  return rpc::InvalidFields(fields);
}

absl::StatusOr<Manifest> ReadManifest(std::string_view text, std::string_view ns, const DefaultOptions& defaults) {
  if (text.size() > kMaxBytes) {
    return InvalidManifest(fmt::format("has {} bytes; Kubernetes takes at most {}", text.size(), kMaxBytes));
  }
  BASALT_ASSIGN_OR_RETURN(json::value parsed, ParseJson(text));
  if (!parsed.is_object()) return InvalidManifest("must be an object");
  json::object& stored = parsed.as_object();
  // The status belongs to the controller, whoever sends it.
  stored.erase("status");
  // The job is decoded from the text that will be sent: a key that stood twice is left only once there.
  BASALT_ASSIGN_OR_RETURN(kube::DecodedJob decoded, kube::DecodeWrittenJob(ToText(parsed)));
  CheckTop(parsed, ns, decoded);
  if (!decoded.errors.empty()) return rpc::InvalidFields(FieldsOf(decoded.errors));
  Manifest manifest;
  manifest.job = std::move(decoded.job);
  *manifest.job.mutable_spec() = EffectiveSpec(manifest.job, defaults);
  const Validation validation =
      ValidateJob(manifest.job.spec(), manifest.job.meta().name(), manifest.job.meta().namespace_());
  if (!validation.ok()) return InvalidSpec(validation.violations);
  for (const Violation& warning : validation.warnings) manifest.warnings.push_back(warning.message);
  WriteDefaults(manifest.job, stored);
  manifest.json = ToText(parsed);
  return manifest;
}

}  // namespace basalt::jobsvc
