#include "services/jobsvc/testing/rig/job_kube.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/kube/requests.h"
#include "common/kube/resources/pod_group.h"
#include "services/jobsvc/testing/rig/manifests.h"

namespace basalt::jobsvc::testing {
namespace {

using basalt::testing::RigKube;

constexpr std::string_view kHeld = "basalt.dev/held-by-a-test";
constexpr std::string_view kNode = "node-0";
constexpr char kServiceSpec[] = R"({"ports":[{"port":80}]})";
constexpr const char* kPriorityClasses[] = {"low", "high"};  // The classes that jobs of tests name.

constexpr kube::Kind kKinds[] = {kube::kJobs,           kube::kCommands, kube::kPodGroups,
                                 kube::kPods,           kube::kServices, kube::kPersistentVolumeClaims,
                                 kube::kSecrets,        kube::kEvents,   kube::kConfigMaps,
                                 kube::kNetworkPolicies};

const kube::Kind& KindOf(std::string_view plural) {
  for (const kube::Kind& kind : kKinds) {
    if (kind.plural == plural) return kind;
  }
  ADD_FAILURE() << plural << " is no kind of the rig";
  return kKinds[0];
}

template <typename T>
void Keep(std::map<std::string, T>& there, const std::string& key, bool gone, const T& now) {
  if (gone) {
    there.erase(key);
  } else {
    there[key] = now;
  }
}

std::string KeyIn(const json::value& stored) {
  const json::value& metadata = stored.at("metadata");
  return kube::ObjectKey(FindString(metadata, "namespace"), FindString(metadata, "name"));
}

json::object Meta(json::object members) { return json::object{{"metadata", std::move(members)}}; }

}  // namespace

JobKube::JobKube(basalt::testing::ControllerRig& rig)
    : refuse_get(rig.server().refuse_get), rig_(rig), server_(rig.server()) {
  server_.Follow([this](const RigKube::Change& change) { OnChange(change); });
  // The API server refuses pods whose class does not exist.
  for (const char* name : kPriorityClasses) {
    server_.Create(kube::kPriorityClasses, json::object{{"metadata", json::object{{"name", name}}}, {"value", 0}});
  }
}

void JobKube::OnChange(const RigKube::Change& change) {
  const kube::v1::Object& object = change.object;
  const std::string key = KeyIn(*change.stored);
  if (object.has_job()) {
    Keep(jobs_, key, change.gone, object.job());
    Keep(job_bodies_, key, change.gone, change.stored);
  } else if (object.has_pod()) {
    const bool is_new = !pods_.contains(key);
    Keep(pods_, key, change.gone, object.pod());
    Keep(pod_bodies_, key, change.gone, change.stored);
    if (schedules_ && is_new && !change.gone) server_.loop().Post([this, key] { Bind(key, kNode); });
  } else if (object.has_pod_group()) {
    Keep(groups_, key, change.gone, object.pod_group());
    Keep(group_bodies_, key, change.gone, change.stored);
  } else if (object.has_command()) {
    Keep(commands_, key, change.gone, object.command());
  } else if (object.has_generic()) {
    const std::string plural = change.resource.substr(0, change.resource.find('.'));
    Keep(others_, fmt::format("{}/{}", plural, key), change.gone, change.stored->as_object());
  }
}

// ---- actions of users ----

void JobKube::PutJob(kube::v1::Job job) { StoreJob(MetadataJson(job.meta()), JobSpecJson(job)); }

void JobKube::PutManifest(const json::value& manifest) {
  json::object metadata = manifest.at("metadata").as_object();
  metadata["namespace"] = "default";
  const json::value* const spec = Find(manifest, "spec");
  StoreJob(std::move(metadata), spec == nullptr ? json::value() : *spec);
}

void JobKube::StoreJob(json::object metadata, json::value spec) {
  const std::string ns(FindString(metadata, "namespace"));
  const std::string name(FindString(metadata, "name"));
  const std::string key = kube::ObjectKey(ns, name);
  const bool is_new = !jobs().contains(key);
  json::object next = is_new ? json::object{{"metadata", std::move(metadata)}} : job_bodies_.at(key)->as_object();
  const json::value* const before = next.if_contains("spec");
  if (before != nullptr && *before == spec) {
    ObjectIn(ObjectIn(next, "metadata"), "annotations")["touched"] = std::to_string(++touches_);
  }
  next.erase("spec");
  if (!spec.is_null()) next["spec"] = std::move(spec);
  if (is_new) return server_.Create(kube::kJobs, std::move(next));
  server_.Replace(kube::kJobs, ns, name, next);
}

void JobKube::EditJob(const std::string& key, const std::function<void(kube::v1::Job&)>& edit) {
  kube::v1::Job job = jobs().at(key);
  edit(job);
  PutJob(std::move(job));
}

void JobKube::DeleteJob(const std::string& key) {
  const auto [ns, name] = kube::SplitKey(key);
  if (jobs().at(key).meta().deletion_ms() != 0) {
    return server_.Merge(kube::kJobs, ns, name, Meta({{"finalizers", nullptr}}));
  }
  server_.Delete(kube::kJobs, ns, name);
}

void JobKube::HoldDeletedJob(const std::string& key) {
  const auto [ns, name] = kube::SplitKey(key);
  server_.Merge(kube::kJobs, ns, name, Meta({{"finalizers", json::array{kHeld}}}));
  server_.Delete(kube::kJobs, ns, name);
}

void JobKube::PutCommand(const std::string& ns, const std::string& name, const std::string& action,
                         const std::string& job, const std::function<void(kube::v1::Command&)>& edit) {
  kube::v1::Command command;
  command.mutable_meta()->set_namespace_(ns);
  command.mutable_meta()->set_name(name);
  command.set_action(action);
  command.mutable_target()->set_api_version(std::string(kube::kJobApiVersion));
  command.mutable_target()->set_kind("Job");
  command.mutable_target()->set_name(job);
  command.mutable_target()->set_uid(jobs().at(kube::ObjectKey(ns, job)).meta().uid());
  if (edit) edit(command);
  server_.Create(kube::kCommands, CommandJson(command));
}

void JobKube::PutTargeted(const std::string& name, const std::string& action, const std::string& target) {
  PutCommand("default", name, action, "j", [&target](kube::v1::Command& command) {
    kube::v1::KeyValue& annotation = *command.mutable_meta()->add_annotations();
    annotation.set_key(std::string(kube::kCommandTargetKey));
    annotation.set_value(target);
  });
}

void JobKube::RefuseWrites(std::function<bool(const gateway::v1::WriteRequest&)> chosen, int code, std::string message,
                           std::string reason) {
  SetRefuse([chosen = std::move(chosen), code, message = std::move(message), reason = std::move(reason)](
                const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!chosen(request)) return false;
    error.set_code(code);
    error.set_message(message);
    error.set_reason(reason);
    return true;
  });
}

void JobKube::PutForeignPod(const std::string& ns, const std::string& name, const std::string& job_name) {
  json::object metadata{{"namespace", ns}, {"name", name}};
  if (!job_name.empty()) metadata["labels"] = json::object{{kube::kJobNameKey, job_name}};
  const json::object container{{"name", "main"}, {"image", "busybox"}};
  server_.Create(kube::kPods, json::object{{"metadata", std::move(metadata)},
                                           {"spec", json::object{{"containers", json::array{container}}}}});
  SetPodPhase(kube::ObjectKey(ns, name), kube::v1::POD_PHASE_RUNNING);
}

gateway::v1::WriteResponse JobKube::Write(gateway::v1::WriteRequest request) {
  const kube::Kind& kind = KindOf(request.resource().plural());
  *request.mutable_resource() = kube::ResourceOf(kind);
  if (request.has_patch() && request.patch().type() == gateway::v1::Patch::TYPE_UNSPECIFIED) {
    request.mutable_patch()->set_type(gateway::v1::Patch::TYPE_MERGE);
  }
  if (request.has_create()) {
    json::object body = ParseJson(request.create().body())->as_object();
    body["apiVersion"] =
        kind.group.empty() ? std::string(kind.version) : fmt::format("{}/{}", kind.group, kind.version);
    body["kind"] = kind.name;
    ObjectIn(body, "metadata")["name"] = request.name();
    const std::string_view spec = kind.plural == kube::kPersistentVolumeClaims.plural ? kClaimSpec
                                  : kind.plural == kube::kServices.plural             ? kServiceSpec
                                                                                      : "";
    if (!spec.empty() && !body.contains("spec")) body["spec"] = *ParseJson(spec);
    request.mutable_create()->set_body(ToText(body));
  }
  return server_.WriteAsUser(request);
}

// ---- actions of the cluster ----

absl::StatusOr<podgroup::v1::EnsurePodGroupResponse> JobKube::EnsurePodGroup(
    const podgroup::v1::EnsurePodGroupRequest& request) {
  ++group_asks_;
  if (!refuse_group.ok()) return refuse_group;
  const std::string key = kube::ObjectKey(request.namespace_(), request.name());
  const auto found = groups().find(key);
  if (found == groups_.end()) {
    server_.Log({"create", "podgroups", request.name(), 0});
    json::object body = ParseJson(kube::PodGroupBody(request))->as_object();
    ObjectIn(body, "metadata")["namespace"] = request.namespace_();
    body["status"] = json::object{{"phase", new_group_phase}};
    server_.Create(kube::kPodGroups, std::move(body));
  } else {
    const kube::v1::PodGroup& group = found->second;
    bool older = group.meta().uid() == request.kill_uid();
    for (const auto& annotation : group.meta().annotations()) {
      if (annotation.key() == kube::kBasaltVersionKey) older |= std::stoi(annotation.value()) < request.version();
    }
    if (older) return absl::FailedPreconditionError("the group of an older version is still going");
    if (kube::PodGroupDiffers(group.spec(), request.spec())) {
      server_.Log({"patch", "podgroups", request.name(), 0});
      server_.Merge(kube::kPodGroups, request.namespace_(), request.name(),
                    *ParseJson(kube::PodGroupPatch(group.spec(), request.spec())));
    }
  }
  podgroup::v1::EnsurePodGroupResponse response;
  *response.mutable_pod_group() = groups().at(key);
  return response;
}

void JobKube::SetGroupPhase(const std::string& key, const std::string& phase) {
  EditGroup(key, [&phase](kube::v1::PodGroup& group) { group.set_phase(phase); });
}

void JobKube::EditGroup(const std::string& key, const std::function<void(kube::v1::PodGroup&)>& edit) {
  kube::v1::PodGroup group = groups().at(key);
  edit(group);
  json::object next = group_bodies_.at(key)->as_object();
  next["spec"] = kube::PodGroupSpecJson(group.spec());
  next["status"] = PodGroupStatusJson(group);
  const auto [ns, name] = kube::SplitKey(key);
  server_.Replace(kube::kPodGroups, ns, name, next);
  if (group.meta().deletion_ms() == groups().at(key).meta().deletion_ms()) return;
  server_.Merge(kube::kPodGroups, ns, name, Meta({{"finalizers", json::array{kHeld}}}));
  server_.Delete(kube::kPodGroups, ns, name);
}

void JobKube::EditLabel(const std::string& pod, std::string_view label, std::string_view value) {
  const auto [ns, name] = kube::SplitKey(pod);
  const json::value text = value.empty() ? json::value() : json::value(value);
  server_.Merge(kube::kPods, ns, name, Meta({{"labels", json::object{{label, text}}}}));
}

void JobKube::EditPod(const std::string& key, const std::function<void(kube::v1::Pod&)>& edit) {
  const kube::v1::Pod before = pods().at(key);
  kube::v1::Pod pod = before;
  edit(pod);
  const auto [ns, name] = kube::SplitKey(key);
  json::object metadata;
  if (pod.owner_uid() != before.owner_uid()) {
    json::array owners;
    if (!pod.owner_uid().empty()) owners.push_back(OwnerOf(pod.owner_uid()));
    metadata["ownerReferences"] = std::move(owners);
  }
  json::object annotations;
  if (pod.task() != before.task()) annotations[kube::kTaskSpecKey] = pod.task();
  json::object labels;
  if (pod.job_uid_label() != before.job_uid_label()) {
    labels[kube::kJobUidKey] = pod.job_uid_label().empty() ? json::value() : json::value(pod.job_uid_label());
  }
  if (pod.job_name() != before.job_name()) labels[kube::kJobNameKey] = pod.job_name();
  if (pod.deletion_ms() != before.deletion_ms()) metadata["finalizers"] = json::array{kHeld};
  if (pod.SerializeAsString() == before.SerializeAsString()) annotations["touched"] = std::to_string(++touches_);
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  if (!metadata.empty()) server_.Merge(kube::kPods, ns, name, Meta(std::move(metadata)));
  if (pod.node_name() != before.node_name()) Bind(key, pod.node_name());
  const json::object status = PodStatusJson(pod);
  if (status != PodStatusJson(before)) {
    server_.Merge(kube::kPods, ns, name, json::object{{"status", status}}, "status");
  }
  if (pod.deletion_ms() != before.deletion_ms()) server_.Delete(kube::kPods, ns, name);
}

// An owner other than a job has a kind that is not served, so that nobody can find out that it does not exist.
json::object JobKube::OwnerOf(const std::string& uid) const {
  json::object owner{
      {"apiVersion", "example.com/v1"}, {"kind", "Thing"}, {"name", uid}, {"uid", uid}, {"controller", true}};
  for (const auto& [key, job] : jobs()) {
    if (job.meta().uid() != uid) continue;
    owner["apiVersion"] = kube::kJobApiVersion;
    owner["kind"] = "Job";
    owner["name"] = job.meta().name();
  }
  return owner;
}

void JobKube::SetPodPhase(const std::string& key, kube::v1::PodPhase phase, int exit_code) {
  EditPod(key, [&](kube::v1::Pod& pod) {
    pod.set_phase(phase);
    pod.set_exit_code(exit_code);
    pod.set_all_ready(phase == kube::v1::POD_PHASE_RUNNING);
    if (phase == kube::v1::POD_PHASE_SUCCEEDED || phase == kube::v1::POD_PHASE_FAILED) {
      pod.set_finished_ms(absl::ToUnixMillis(Now()) / 1000 * 1000);
    }
  });
}

void JobKube::SetAllPods(kube::v1::PodPhase phase) {
  for (const auto& [key, pod] : std::map(pods())) {
    if (pod.deletion_ms() == 0 && pod.phase() != phase) SetPodPhase(key, phase);
  }
}

void JobKube::RemovePod(const std::string& key) {
  const auto [ns, name] = kube::SplitKey(key);
  if (pods().at(key).finalizers()) {
    server_.Merge(kube::kPods, ns, name, Meta({{"finalizers", nullptr}}));
    if (!pods().contains(key)) return;
  }
  server_.Delete(kube::kPods, ns, name, json::object{{"gracePeriodSeconds", 0}});
}

void JobKube::HoldPod(const std::string& key) {
  const auto [ns, name] = kube::SplitKey(key);
  server_.Merge(kube::kPods, ns, name, Meta({{"finalizers", json::array{kHeld}}}));
}

void JobKube::SchedulePods(bool schedules) {
  schedules_ = schedules;
  if (!schedules) return;
  for (const auto& [key, pod] : std::map(pods())) Bind(key, kNode);
}

void JobKube::Bind(const std::string& key, std::string_view node) {
  const auto pod = pods().find(key);
  if (pod == pods_.end() || !pod->second.node_name().empty() || pod->second.deletion_ms() != 0) return;
  const auto [ns, name] = kube::SplitKey(key);
  const json::object binding{{"apiVersion", "v1"},
                             {"kind", "Binding"},
                             {"metadata", json::object{{"name", name}}},
                             {"target", json::object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  const http::Response answer = server_.Ask({.method = "POST",
                                             .target = fmt::format("/api/v1/namespaces/{}/pods/{}/binding", ns, name),
                                             .headers = {{"Content-Type", "application/json"}},
                                             .body = ToText(binding)});
  EXPECT_EQ(answer.status, 201) << answer.body;
  server_.Sync();
}

void JobKube::FinishDeletions() {
  for (const auto& [key, pod] : std::map(pods())) {
    if (pod.deletion_ms() != 0) RemovePod(key);
  }
}

std::string JobKube::UidOf(const std::string& other) const {
  return std::string(FindString(others().at(other).at("metadata"), "uid"));
}

void JobKube::ForgetEvents() {
  for (const auto& [full, body] : std::map(others())) {
    if (!full.starts_with("events/")) continue;
    const auto [ns, name] = kube::SplitKey(std::string_view(full).substr(7));
    server_.Delete(kube::kEvents, ns, name);
  }
}

void JobKube::ShowJobGone(const std::string& key) {
  kube::v1::Object object;
  *object.mutable_job() = jobs().at(key);
  object.mutable_job()->mutable_meta()->set_resource_version(object.job().meta().resource_version() + 100);
  rig_.Show(object, /*gone=*/true);
}

}  // namespace basalt::jobsvc::testing
