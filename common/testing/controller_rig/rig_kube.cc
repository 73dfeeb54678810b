#include "common/testing/controller_rig/rig_kube.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "common/kube/names.h"
#include "common/kube/requests.h"
#include "common/testing/controller_rig/definitions.h"
#include "gateway/access/answers.h"
#include "gateway/kube/refusal.h"
#include "gateway/kube/write/kube_request.h"
#include "gateway/route/owner_watch.h"

namespace basalt::testing {
namespace {

using gateway::v1::WriteRequest;
using gateway::v1::WriteResponse;

constexpr std::string_view kProduct = "basalt-rig";

constexpr kube::Kind kFollowed[] = {
    kube::kJobs,      kube::kCommands,   kube::kPodGroups,       kube::kQueues,         kube::kKaiPodGroups,
    kube::kKaiQueues, kube::kPods,       kube::kEvents,          kube::kServices,       kube::kPersistentVolumeClaims,
    kube::kSecrets,   kube::kConfigMaps, kube::kNetworkPolicies, kube::kPriorityClasses};

// Collects an answer, which always comes at once: requests have no delays, and collections are deleted in one go.
class Answer final : public http::ResponseWriter {
 public:
  explicit Answer(std::shared_ptr<http::Response> into) : into_(std::move(into)) {}
  void Head(int status, const http::Headers& headers) override {
    into_->status = status;
    into_->headers = headers;
  }
  void Chunk(std::string_view data) override { into_->body += data; }
  void End() override {}
  bool closed() const override { return false; }
  void OnClose(std::function<void()>) override {}
  size_t buffered() const override { return 0; }

 private:
  std::shared_ptr<http::Response> into_;
};

bool IsGood(const http::Response& response) { return response.status >= 200 && response.status < 300; }

std::string VerbOf(const WriteRequest& request) {
  if (request.has_create()) return "create";
  if (request.has_patch()) return "patch";
  return request.has_delete_collection() ? "deletecollection" : "delete";
}

std::string PathOf(const kube::Kind& kind, std::string_view ns, std::string_view name) {
  std::string path = gateway::CollectionPath(kube::ResourceOf(kind), ns).value();
  return name.empty() ? path : fmt::format("{}/{}", path, name);
}

}  // namespace

std::string RigKube::ResourceOf(const kube::Kind& kind) {
  return kind.group.empty() ? std::string(kind.plural) : fmt::format("{}.{}", kind.plural, kind.group);
}

RigKube::RigKube(SimTime& time) : loop_(time) {
  kubesim::ApiServerOptions options;
  options.crds = OpenDefinitions();
  options.collection_slice = 1'000'000;
  options.request_log_size = 0;
  options.log_bodies = false;
  server_ = std::make_unique<kubesim::ApiServer>(loop_, random_, std::move(options));
  EXPECT_TRUE(server_->startup_status().ok()) << server_->startup_status();
  time.RunDueTasks();  // Lets the server serve the definitions.
  for (const kube::Kind& kind : kFollowed) {
    followed_.push_back({.resource = ResourceOf(kind), .kind = gateway::KindOf(kind.group, kind.plural)});
  }
  for (const kube::Kind& kind : kube::kWorkloadKinds) {
    followed_.push_back({.resource = ResourceOf(kind), .kind = gateway::ObjectKind::kWorkload});
  }
  loop_.after_task = [this] { Sync(); };
}

// ---- changes ----

void RigKube::FollowOwners(std::string_view watch) {
  const auto kind = gateway::OwnerKindOf(watch);
  ASSERT_TRUE(kind.ok()) << kind.status();
  const std::string api_version =
      kind->group.empty() ? kind->version : fmt::format("{}/{}", kind->group, kind->version);
  const kubesim::TypeInfoPtr type = server_->types().FindKind(api_version, kind->kind);
  if (type == nullptr) return;  // The server does not serve the kind.
  const bool is_new = owner_watches_.emplace(std::string(watch), type->Resource()).second;
  if (!is_new) return;
  followed_.push_back({.resource = type->Resource(),
                       .kind = gateway::ObjectKind::kOwner,
                       .seen = server_->store().version(),
                       .watch = std::string(watch)});
}

std::optional<kube::v1::Object> RigKube::ReadOwner(std::string_view watch, std::string_view ns, std::string_view name) {
  const auto known = owner_watches_.find(watch);
  if (known == owner_watches_.end()) return std::nullopt;
  auto stored = server_->Get(known->second, ns, name);
  if (stored == nullptr) stored = server_->Get(known->second, "", name);  // The kind may have no namespaces.
  if (stored == nullptr) return std::nullopt;
  kube::v1::Object object = Project(gateway::ObjectKind::kOwner, ToText(*stored));
  object.mutable_generic()->mutable_meta()->set_namespace_(std::string(ns));
  return object;
}

void RigKube::Sync() {
  const kubesim::Store& store = server_->store();
  if (synced_ >= store.version()) return;
  for (;;) {  // Two entries may follow one resource, each with its own projection.
    const kubesim::Change* next = nullptr;
    size_t of = 0;
    for (size_t i = 0; i < followed_.size(); ++i) {
      const kubesim::Change* change = store.Next(followed_[i].resource, followed_[i].seen);
      if (change == nullptr || (next != nullptr && next->version <= change->version)) continue;
      next = change;
      of = i;
    }
    if (next == nullptr) break;
    followed_[of].seen = synced_ = next->version;
    const bool gone = next->after == nullptr;
    const kubesim::RevisionPtr revision = gone ? next->Tombstone() : next->after;
    const kube::v1::Object object = Project(followed_[of].kind, revision->Text());
    const std::shared_ptr<const json::value> stored(revision, &revision->object());
    const std::string resource = followed_[of].watch.empty() ? followed_[of].resource : followed_[of].watch;
    for (const Listener& listener : listeners_) listener({resource, object, gone, stored});
  }
  synced_ = store.version();
}

gateway::Decoder& RigKube::DecoderOf(gateway::ObjectKind kind) {
  return decoders_.try_emplace(kind, gateway::Decoder(kind, gateway::Decoder::Json::kKeep)).first->second;
}

kube::v1::Object RigKube::Project(gateway::ObjectKind kind, const std::string& text) {
  auto decoded = DecoderOf(kind).DecodeObject(text);
  EXPECT_TRUE(decoded.ok()) << decoded.status() << " of " << text;
  return decoded.ok() ? std::move(decoded->object) : kube::v1::Object();
}

// ---- the controller's requests ----

WriteResponse RigKube::Write(const WriteRequest& request) {
  WriteResponse response;
  gateway::v1::KubeError error;
  if (refuse && refuse(request, error)) {
    *response.mutable_error() = std::move(error);
  } else {
    response = Carry(request);
  }
  if (response.has_object()) {
    gateway::ReduceObject(request.owner(), request.resource(), *response.mutable_object());
  }
  if (response.has_error()) gateway::ReduceError(request.resource(), *response.mutable_error());
  std::string plural = request.resource().plural();
  if (!request.subresource().empty()) plural += "/" + request.subresource();
  log_.push_back({VerbOf(request), std::move(plural), request.name(), response.error().code(), request.dry_run()});
  Sync();
  return response;
}

WriteResponse RigKube::Carry(const WriteRequest& request) {
  WriteResponse response;
  const auto prepared = gateway::PrepareWrite(request, kube::kFieldManager, kProduct);
  if (!prepared.ok()) {
    response.mutable_error()->set_code(400);
    response.mutable_error()->set_reason("BadRequest");
    response.mutable_error()->set_message(std::string(ToStd(prepared.status().message())));
    return response;
  }
  const http::Response answer = Ask(
      {.method = prepared->method, .target = prepared->target, .headers = prepared->headers, .body = prepared->body});
  if (!IsGood(answer)) {
    *response.mutable_error() = gateway::ReadRefusal(answer, prepared->target);
    return response;
  }
  auto written = gateway::ReadWritten(request, answer, DecoderOf(prepared->kind));
  EXPECT_TRUE(written.ok()) << written.status();
  return written.ok() ? *std::move(written) : response;
}

gateway::v1::GetResponse RigKube::Get(const gateway::v1::GetRequest& request) {
  ++gets_;
  gateway::v1::GetResponse response;
  if (refuse_get && refuse_get(request, *response.mutable_error())) return response;
  response.clear_error();
  const auto prepared = gateway::PrepareGet(request, kProduct);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  const http::Response answer = Ask({.target = prepared->target, .headers = prepared->headers});
  if (IsGood(answer)) {
    *response.mutable_object() = Project(prepared->kind, answer.body);
    gateway::ReduceObject(request.owner(), request.resource(), *response.mutable_object());
  } else {
    *response.mutable_error() = gateway::ReadRefusal(answer, prepared->target);
    gateway::ReduceError(request.resource(), *response.mutable_error());
  }
  return response;
}

int RigKube::Count(std::string_view verb, std::string_view plural, std::string_view name) const {
  int count = 0;
  for (const Logged& entry : log_) {
    const bool matches =
        entry.verb == verb && (plural.empty() || entry.plural == plural) && (name.empty() || entry.name == name);
    if (entry.code == 0 && !entry.dry_run && matches) ++count;
  }
  return count;
}

int RigKube::WritesButEvents() const {
  int count = 0;
  for (const Logged& entry : log_) count += entry.plural == "events" ? 0 : 1;
  return count;
}

// ---- requests of users and other programs ----

WriteResponse RigKube::WriteAsUser(const WriteRequest& request) {
  WriteResponse response = Carry(request);
  Sync();
  return response;
}

http::Response RigKube::Ask(http::Request request) {
  auto answer = std::make_shared<http::Response>();
  server_->Handle(request, std::make_shared<Answer>(answer));
  EXPECT_NE(answer->status, 0) << request.method << " " << request.target << " is not answered at once";
  return std::move(*answer);
}

void RigKube::Must(std::string_view method, const std::string& target, const json::value& body, std::string_view type) {
  const http::Response answer = Ask({.method = std::string(method),
                                     .target = target,
                                     .headers = {{"Content-Type", std::string(type)}, {"User-Agent", "user"}},
                                     .body = ToText(body)});
  EXPECT_TRUE(IsGood(answer)) << method << " " << target << ": " << answer.body << " to " << ToText(body);
  Sync();
}

void RigKube::Create(const kube::Kind& kind, json::value body) {
  json::object& object = body.as_object();
  object["apiVersion"] =
      kind.group.empty() ? std::string(kind.version) : fmt::format("{}/{}", kind.group, kind.version);
  object["kind"] = kind.name;
  const std::string ns(FindString(object.at("metadata"), "namespace"));
  if (!ns.empty() && server_->Get("namespaces", "", ns) == nullptr) {
    Must("POST", "/api/v1/namespaces",
         json::object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::object{{"name", ns}}}});
  }
  Must("POST", PathOf(kind, ns, ""), body);
}

void RigKube::Replace(const kube::Kind& kind, std::string_view ns, std::string_view name, const json::value& body) {
  Must("PUT", PathOf(kind, ns, name), body);
}

void RigKube::Merge(const kube::Kind& kind, std::string_view ns, std::string_view name, const json::value& patch,
                    std::string_view subresource) {
  std::string path = PathOf(kind, ns, name);
  if (!subresource.empty()) path += fmt::format("/{}", subresource);
  Must("PATCH", path, patch, "application/merge-patch+json");
}

void RigKube::Delete(const kube::Kind& kind, std::string_view ns, std::string_view name, const json::object& options) {
  json::object body = options;
  body["apiVersion"] = "v1";
  body["kind"] = "DeleteOptions";
  Must("DELETE", PathOf(kind, ns, name), body);
}

}  // namespace basalt::testing
