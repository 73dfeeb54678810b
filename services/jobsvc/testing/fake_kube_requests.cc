// What the API server in miniature answers: writes and reads as the gateway sends them.
#include <array>
#include <cstdio>
#include <utility>

#include "common/base/status.h"
#include "common/kube/decode/decode_job.h"
#include "common/kube/label_selector.h"
#include "common/kube/names.h"
#include "services/jobsvc/testing/fake_kube.h"

namespace basalt::jobsvc::testing {

using gateway::v1::WriteRequest;
using gateway::v1::WriteResponse;

namespace {

WriteResponse Refused(int code, std::string_view reason, std::string message) {
  WriteResponse response;
  response.mutable_error()->set_code(code);
  response.mutable_error()->set_reason(std::string(reason));
  response.mutable_error()->set_message(std::move(message));
  return response;
}

void MergePatch(json::object& target, const json::object& patch) {
  for (const auto& [key, value] : patch) {
    if (value.is_null()) {
      target.erase(key);
    } else if (value.is_object()) {
      json::value& member = target[key];
      if (!member.is_object()) member = json::object();
      MergePatch(member.as_object(), value.as_object());
    } else {
      target[key] = value;
    }
  }
}

kube::v1::JobStatus ReadStatus(const json::object& status) {
  json::object job;
  job["status"] = status;
  return kube::DecodeStoredJob(ToText(job)).value().job.status();
}

void ReadMeta(const json::value& body, kube::v1::ObjectMeta& meta) {
  const json::value* owners = FindPath(body, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return;
  for (const json::value& owner : owners->as_array()) {
    auto* reference = meta.add_owner_references();
    reference->set_uid(std::string(FindString(owner, "uid")));
    reference->set_kind(std::string(FindString(owner, "kind")));
    reference->set_controller(true);
  }
}

kube::v1::Pod ReadPod(const json::value& body) {
  kube::v1::Pod pod;
  kube::v1::ObjectMeta meta;
  ReadMeta(body, meta);
  if (meta.owner_references_size() > 0) pod.set_owner_uid(meta.owner_references(0).uid());
  const json::value* metadata = Find(body, "metadata");
  const json::value* annotations = metadata ? Find(*metadata, "annotations") : nullptr;
  if (annotations == nullptr) return pod;
  pod.set_job_name(std::string(FindString(*annotations, kube::kJobNameKey)));
  pod.set_task(std::string(FindString(*annotations, kube::kTaskSpecKey)));
  pod.set_group_name(std::string(FindString(*annotations, kube::kGroupNameKey)));
  pod.set_job_version(std::stoi(std::string(FindString(*annotations, kube::kJobVersionKey))));
  pod.set_index(std::stoi(std::string(FindString(*annotations, kube::kTaskIndexKey))));
  pod.set_out_of_sync(Find(*annotations, kube::kOutOfSyncKey) != nullptr);
  if (const json::value* labels = Find(*metadata, "labels")) {
    pod.set_job_uid_label(std::string(FindString(*labels, kube::kJobUidKey)));
  }
  return pod;
}

}  // namespace

WriteResponse FakeKube::Write(const WriteRequest& request) {
  WriteResponse response;
  gateway::v1::KubeError error;
  if (refuse_ && refuse_(request, error)) {
    *response.mutable_error() = error;
  } else {
    response = Apply(request);
  }
  const std::string verb = request.has_create()              ? "create"
                           : request.has_patch()             ? "patch"
                           : request.has_delete_collection() ? "deletecollection"
                                                             : "delete";
  const std::string plural =
      request.resource().plural() + (request.subresource().empty() ? "" : "/" + request.subresource());
  log_.push_back({verb, plural, request.name(), response.error().code(), request.dry_run()});
  return response;
}

WriteResponse FakeKube::Apply(const WriteRequest& request) {
  const std::string key = request.namespace_() + "/" + request.name();
  if (request.has_create()) return Create(request, key);
  if (request.has_patch()) return Patch(request, key);
  if (request.has_delete_collection()) return DeleteCollection(request);
  return Delete(request, key);
}

// Of pods, by their labels and whether they are terminal.
WriteResponse FakeKube::DeleteCollection(const WriteRequest& request) {
  const auto selector = kube::LabelSelector::Parse(request.delete_collection().label_selector());
  if (!selector.ok()) return Refused(400, "BadRequest", std::string(ToStd(selector.status().message())));
  const std::string& fields = request.delete_collection().field_selector();
  const bool keeps_both = fields == "status.phase!=Succeeded,status.phase!=Failed";
  const bool keeps_succeeded = keeps_both || fields == "status.phase!=Succeeded";
  if (!fields.empty() && !keeps_succeeded) return Refused(400, "BadRequest", fields);
  std::vector<std::string> chosen;
  for (const auto& [key, pod] : pods_) {
    if (pod.namespace_() != request.namespace_() || !pod_bodies_.contains(key)) continue;
    if (keeps_succeeded && pod.phase() == kube::v1::POD_PHASE_SUCCEEDED) continue;
    if (keeps_both && pod.phase() == kube::v1::POD_PHASE_FAILED) continue;
    const json::value body = pod_bodies_.at(key);
    const json::value* labels = FindPath(body, {"metadata", "labels"});
    const bool matches = selector->Matches([&](std::string_view name) -> std::optional<std::string_view> {
      const json::value* label = labels == nullptr ? nullptr : Find(*labels, name);
      if (label == nullptr || !label->is_string()) return std::nullopt;
      return std::string_view(label->get_string().data(), label->get_string().size());
    });
    if (matches) chosen.push_back(key);
  }
  for (const std::string& key : chosen) {
    kube::v1::Pod& pod = pods_.at(key);
    if (!graceful_pods) {
      RemovePod(key);
    } else if (pod.deletion_ms() == 0) {
      pod.set_deletion_ms(absl::ToUnixMillis(Now()));
      pod.set_resource_version(++version_);
      ShowPod(key);
    }
  }
  return {};
}

kube::v1::Object FakeKube::GenericOf(const std::string& plural_key) const {
  kube::v1::Object object;
  const json::value body = others_.at(plural_key);
  auto* meta = object.mutable_generic()->mutable_meta();
  ReadMeta(body, *meta);
  const size_t ns = plural_key.find('/') + 1;
  const size_t name = plural_key.find('/', ns) + 1;
  meta->set_namespace_(plural_key.substr(ns, name - ns - 1));
  meta->set_name(plural_key.substr(name));
  meta->set_uid(std::string(FindString(*Find(body, "metadata"), "uid")));
  meta->set_resource_version(FindInt(*Find(body, "metadata"), "resourceVersion"));
  object.mutable_generic()->set_json(ToText(body));
  return object;
}

kube::v1::Object FakeKube::Other(const std::string& plural, const std::string& ns, const std::string& name) const {
  const std::string key = plural + "/" + ns + "/" + name;
  return others_.contains(key) ? GenericOf(key) : kube::v1::Object();
}

WriteResponse FakeKube::Create(const WriteRequest& request, const std::string& key) {
  auto parsed = ParseJson(request.create().body());
  if (!parsed.ok()) return Refused(400, "BadRequest", std::string(ToStd(parsed.status().message())));
  const json::value& body = *parsed;
  const std::string& plural = request.resource().plural();
  WriteResponse response;
  const auto exists = [&] { return Refused(409, "AlreadyExists", key + " already exists"); };
  if (plural == "pods") {
    if (pods_.contains(key)) return exists();
    kube::v1::Pod pod = ReadPod(body);
    pod.set_namespace_(request.namespace_());
    pod.set_name(request.name());
    pod.set_uid(NewUid("pods"));
    pod.set_resource_version(++version_);
    pod.set_creation_ms(absl::ToUnixMillis(Now()) / 1000 * 1000);
    pod.set_phase(kube::v1::POD_PHASE_PENDING);
    pods_[key] = pod;
    pod_bodies_[key] = body.as_object();
    *response.mutable_object()->mutable_pod() = pod;
    ShowPod(key);
    return response;
  }
  if (plural == "jobs") {
    if (jobs_.contains(key)) return exists();
    if (request.dry_run()) return response;
    const auto decoded = kube::DecodeStoredJob(request.create().body());
    if (!decoded.ok()) return Refused(400, "BadRequest", std::string(ToStd(decoded.status().message())));
    PutJob(decoded->job);
    *response.mutable_object()->mutable_job() = jobs_.at(key);
    return response;
  }
  if (plural == "commands") {
    if (commands_.contains(key)) return exists();
    const json::value* target = Find(body, "target");
    PutCommand(request.namespace_(), request.name(), std::string(FindString(body, "action")),
               std::string(FindString(*target, "name")), [&](kube::v1::Command& command) {
                 ReadMeta(body, *command.mutable_meta());
                 if (const json::value* annotations = FindPath(body, {"metadata", "annotations"})) {
                   for (const auto& [name, value] : annotations->as_object()) {
                     auto* annotation = command.mutable_meta()->add_annotations();
                     annotation->set_key(std::string(name));
                     annotation->set_value(std::string(value.as_string()));
                   }
                 }
                 command.mutable_target()->set_uid(std::string(FindString(*target, "uid")));
               });
    *response.mutable_object()->mutable_command() = commands_.at(key);
    return response;
  }
  const std::string full = plural + "/" + key;
  if (others_.contains(full)) return exists();
  json::object stored = body.as_object();
  stored["metadata"].as_object()["uid"] = NewUid(plural);
  stored["metadata"].as_object()["resourceVersion"] = ++version_;
  others_[full] = std::move(stored);
  *response.mutable_object() = GenericOf(full);
  Show(plural, response.object());
  return response;
}

// What the API's scaling sends: tests of the generation, and sizes.
WriteResponse FakeKube::PatchSizes(const WriteRequest& request, const std::string& key, const json::value& operations) {
  const auto found = jobs_.find(key);
  if (found == jobs_.end()) return Refused(404, "NotFound", key);
  kube::v1::Job job = found->second;
  if (request.patch().uid() != job.meta().uid()) return Refused(422, "Conflict", "test failed: /metadata/uid");
  for (const json::value& operation : operations.as_array()) {
    const std::string path(FindString(operation, "path"));
    const auto value = static_cast<int32_t>(FindInt(operation, "value"));
    int task = 0;
    std::array<char, 16> member{};
    if (path == "/metadata/generation") {
      if (value != job.meta().generation()) return Refused(422, "Invalid", "the server rejected our request");
    } else if (path == "/spec/minAvailable") {
      job.mutable_spec()->set_min_available(value);
    } else if (std::sscanf(path.c_str(), "/spec/tasks/%d/%15s", &task, member.data()) == 2) {
      kube::v1::TaskSpec& changed = *job.mutable_spec()->mutable_tasks(task);
      if (std::string_view(member.data()) == "replicas") {
        changed.set_replicas(value);
      } else {
        changed.set_min_available(value);
      }
    }
  }
  WriteResponse response;
  if (request.dry_run()) return response;
  PutJob(job);
  *response.mutable_object()->mutable_job() = jobs_.at(key);
  return response;
}

WriteResponse FakeKube::Patch(const WriteRequest& request, const std::string& key) {
  auto parsed = ParseJson(request.patch().body());
  if (parsed.ok() && parsed->is_array()) return PatchSizes(request, key, *parsed);
  if (!parsed.ok() || !parsed->is_object()) return Refused(400, "BadRequest", "the patch is no object");
  const std::string& plural = request.resource().plural();
  const auto refuses = [&](std::string_view uid, int64_t version) -> std::optional<WriteResponse> {
    if (!request.patch().uid().empty() && request.patch().uid() != uid) return Refused(409, "Conflict", "another uid");
    if (request.patch().resource_version() != 0 && request.patch().resource_version() != version) {
      return Refused(409, "Conflict", "another resourceVersion");
    }
    return std::nullopt;
  };
  WriteResponse response;
  if (plural == "jobs") {
    const auto job = jobs_.find(key);
    if (job == jobs_.end()) return Refused(404, "NotFound", key);
    if (auto refused = refuses(job->second.meta().uid(), job->second.meta().resource_version())) return *refused;
    if (const json::value* annotations = FindPath(*parsed, {"metadata", "annotations"})) {
      for (const auto& [name, value] : annotations->as_object()) {
        auto& annotation = *job->second.mutable_meta()->add_annotations();
        annotation.set_key(std::string(name));
        annotation.set_value(std::string(value.as_string()));
      }
    }
    if (const json::value* status = Find(*parsed, "status")) MergePatch(statuses_[key], status->as_object());
    *job->second.mutable_status() = ReadStatus(statuses_[key]);
    job->second.mutable_meta()->set_resource_version(++version_);
    *response.mutable_object()->mutable_job() = job->second;
    ShowJob(key);
    return response;
  }
  if (plural == "pods") {
    const auto pod = pods_.find(key);
    if (pod == pods_.end()) return Refused(404, "NotFound", key);
    if (auto refused = refuses(pod->second.uid(), pod->second.resource_version())) return *refused;
    pod->second.set_out_of_sync(true);
    pod->second.set_resource_version(++version_);
    *response.mutable_object()->mutable_pod() = pod->second;
    ShowPod(key);
    return response;
  }
  const std::string full = plural + "/" + key;
  if (!others_.contains(full)) return Refused(404, "NotFound", key);
  const kube::v1::ObjectMeta meta = GenericOf(full).generic().meta();
  if (auto refused = refuses(meta.uid(), meta.resource_version())) return *refused;
  MergePatch(others_[full], parsed->as_object());
  others_[full]["metadata"].as_object()["resourceVersion"] = ++version_;
  *response.mutable_object() = GenericOf(full);
  Show(plural, response.object());
  return response;
}

WriteResponse FakeKube::Delete(const WriteRequest& request, const std::string& key) {
  const std::string& plural = request.resource().plural();
  const std::string& uid = request.delete_().uid();
  WriteResponse response;
  response.set_gone(true);
  kube::v1::Object& object = *response.mutable_object();
  if (plural == "pods") {
    const auto pod = pods_.find(key);
    if (pod == pods_.end()) return Refused(404, "NotFound", key);
    if (pod->second.uid() != uid) return Refused(409, "Conflict", "another uid");
    if (graceful_pods) {
      pod->second.set_deletion_ms(absl::ToUnixMillis(Now()));
      pod->second.set_resource_version(++version_);
      *object.mutable_pod() = pod->second;
      response.set_gone(false);
      ShowPod(key);
      return response;
    }
    *object.mutable_pod() = pod->second;
    RemovePod(key);
    return response;
  }
  if (plural == "podgroups") {
    const auto group = groups_.find(key);
    if (group == groups_.end()) return Refused(404, "NotFound", key);
    if (group->second.meta().uid() != uid) return Refused(409, "Conflict", "another uid");
    *object.mutable_pod_group() = group->second;
    groups_.erase(group);
    Show(std::string(kube::kWatchPodGroups), object, true);
    return response;
  }
  if (plural == "commands") {
    const auto command = commands_.find(key);
    if (command == commands_.end()) return Refused(404, "NotFound", key);
    *object.mutable_command() = command->second;
    commands_.erase(command);
    if (late_ends > absl::ZeroDuration()) {
      loop_.RunAfter(late_ends, [this, object] { Show(std::string(kube::kWatchCommands), object, true); });
      response.clear_object();
    } else {
      Show(std::string(kube::kWatchCommands), object, true);
    }
    return response;
  }
  if (plural == "jobs") {
    const auto job = jobs_.find(key);
    if (job == jobs_.end()) return Refused(404, "NotFound", key);
    if (job->second.meta().uid() != uid) return Refused(409, "Conflict", "another uid");
    const int64_t looked_at = request.delete_().resource_version();
    if (looked_at != 0 && job->second.meta().resource_version() != looked_at) {
      return Refused(409, "Conflict", "another resourceVersion");
    }
    *object.mutable_job() = job->second;
    DeleteJob(key);
    return response;
  }
  const std::string full = plural + "/" + key;
  if (!others_.contains(full)) return Refused(404, "NotFound", key);
  object = GenericOf(full);
  if (object.generic().meta().uid() != uid) return Refused(409, "Conflict", "another uid");
  others_.erase(full);
  Show(plural, object, true);
  return response;
}

gateway::v1::GetResponse FakeKube::Get(const gateway::v1::GetRequest& request) {
  ++gets_;
  gateway::v1::GetResponse response;
  if (refuse_get && refuse_get(request, *response.mutable_error())) return response;
  response.clear_error();
  const std::string key = request.namespace_() + "/" + request.name();
  const std::string& plural = request.resource().plural();
  const std::string full = plural + "/" + key;
  if (plural == "jobs" && jobs_.contains(key)) {
    *response.mutable_object()->mutable_job() = jobs_[key];
  } else if (plural == "pods" && pods_.contains(key)) {
    *response.mutable_object()->mutable_pod() = pods_[key];
  } else if (others_.contains(full)) {
    *response.mutable_object() = GenericOf(full);
  } else {
    response.mutable_error()->set_code(404);
    response.mutable_error()->set_reason("NotFound");
  }
  return response;
}

}  // namespace basalt::jobsvc::testing
