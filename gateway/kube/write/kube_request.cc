#include "gateway/kube/write/kube_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "basalt/gateway/v1/user.pb.h"
#include "common/base/excerpt.h"
#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/http/target.h"
#include "common/kube/kinds.h"
#include "gateway/access/body.h"
#include "gateway/access/patches.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

// This annotation names the user of the suite who requested the object, if the gateway may not impersonate the user.
constexpr char kRequestedBy[] = "basalt.dev/requested-by";

std::string ObjectKey(const v1::Resource& resource, std::string_view ns, std::string_view name) {
  return fmt::format("{}.{}/{}/{}", resource.plural(), resource.group(), ns, name);
}

// Only the Secrets of the plugin ssh belong to the suite.
absl::Status CheckSecret(const v1::Resource& resource, std::string_view name) {
  if (!kube::kSecrets.Is(resource.group(), resource.plural()) || name.ends_with("-ssh")) return absl::OkStatus();
  return MakeStatus(
      absl::StatusCode::kPermissionDenied,
      fmt::format("name: '{}' is no Secret of the plugin ssh: it does not end in -ssh", CutUtf8(name, 253)));
}

// Refuses a name that would change the path.
absl::Status CheckName(std::string_view field, std::string_view name) {
  if (name == "." || name == ".." || name.find_first_of("/%") != std::string_view::npos) {
    return Invalid(fmt::format("{}: '{}' is not a name", field, CutUtf8(name, 80)));
  }
  return absl::OkStatus();
}

void AddQuery(std::string& target, std::string_view name, std::string_view value) {
  target += target.find('?') == std::string::npos ? '?' : '&';
  target += fmt::format("{}={}", name, http::Escape(value));
}

absl::StatusOr<json::value> ParseObject(std::string_view field, std::string_view text) {
  absl::StatusOr<json::value> body = ParseJson(text);
  if (!body.ok()) return Annotate(body.status(), field);
  if (!body->is_object()) return Invalid(fmt::format("{}: expected a JSON object", field));
  return body;
}

// Returns the body's metadata, which is made if it is missing.
absl::StatusOr<json::object*> Metadata(json::value& body) {
  json::value& metadata = body.as_object()["metadata"];
  if (metadata.is_null()) metadata.emplace_object();
  if (!metadata.is_object()) return Invalid("patch.body: metadata is not an object");
  return &metadata.get_object();
}

json::value Test(std::string_view path, std::string_view value) {
  json::object test;
  test["op"] = "test";
  test["path"] = path;
  test["value"] = value;
  return test;
}

absl::Status PrepareCreate(const v1::WriteRequest& request, std::string_view job_uid, KubeRequest& out) {
  BASALT_ASSIGN_OR_RETURN(const json::value body, ParseObject("create.body", request.create().body()));
  const json::value* metadata = Find(body, "metadata");
  if (metadata != nullptr && Find(*metadata, "generateName") != nullptr) {
    return Invalid("create.body: generateName is refused, a repeated create would make a second object");
  }
  const std::string_view name = metadata == nullptr ? std::string_view() : FindString(*metadata, "name");
  // The body of a subresource (a binding, an eviction) names its parent.
  if (request.name().empty() || name != request.name()) {
    return Invalid(
        fmt::format("create.body: metadata.name is '{}', the request says '{}'", CutUtf8(name, 253), request.name()));
  }
  BASALT_RETURN_IF_ERROR(CheckCreatedBody(request, body, job_uid));
  out.method = "POST";
  out.body = request.create().body();
  // Only the gateway states for whom it writes.
  if (metadata != nullptr && FindPath(body, {"metadata", "annotations", kRequestedBy}) != nullptr) {
    json::value without = body;
    without.at("metadata").at("annotations").as_object().erase(kRequestedBy);
    out.body = ToText(without);
  }
  out.headers.emplace_back("Content-Type", "application/json");
  return absl::OkStatus();
}

absl::Status PreparePatch(const v1::WriteRequest& request, std::string_view field_manager, KubeRequest& out) {
  const v1::Patch& patch = request.patch();
  const std::string version = patch.resource_version() == 0 ? std::string() : std::to_string(patch.resource_version());
  std::string_view type;
  switch (patch.type()) {
    case v1::Patch::TYPE_MERGE:
      type = "application/merge-patch+json";
      break;
    case v1::Patch::TYPE_JSON:
      type = "application/json-patch+json";
      break;
    case v1::Patch::TYPE_APPLY:
      type = "application/apply-patch+yaml";
      break;
    default:
      return Invalid("patch.type: TYPE_MERGE, TYPE_JSON or TYPE_APPLY is needed");
  }
  if (patch.force() && patch.type() != v1::Patch::TYPE_APPLY) return Invalid("patch.force is only for TYPE_APPLY");
  if (patch.type() == v1::Patch::TYPE_JSON) {
    absl::StatusOr<json::value> operations = ParseJson(patch.body());
    if (!operations.ok()) return Annotate(operations.status(), "patch.body");
    if (!operations->is_array()) return Invalid("patch.body: expected a JSON list of operations");
    BASALT_RETURN_IF_ERROR(CheckPatch(request, *operations));
    json::array& list = operations->get_array();
    if (!version.empty()) list.insert(list.begin(), Test("/metadata/resourceVersion", version));
    if (!patch.uid().empty()) list.insert(list.begin(), Test("/metadata/uid", patch.uid()));
    out.body = ToText(*operations);
  } else {
    BASALT_ASSIGN_OR_RETURN(json::value body, ParseObject("patch.body", patch.body()));
    BASALT_RETURN_IF_ERROR(CheckPatch(request, body));
    if (!patch.uid().empty() || !version.empty()) {
      BASALT_ASSIGN_OR_RETURN(json::object * metadata, Metadata(body));
      if (!patch.uid().empty()) (*metadata)["uid"] = patch.uid();
      if (!version.empty()) (*metadata)["resourceVersion"] = version;
    }
    out.body = ToText(body);
  }
  out.method = "PATCH";
  out.headers.emplace_back("Content-Type", type);
  AddQuery(out.target, "fieldManager", patch.field_manager().empty() ? field_manager : patch.field_manager());
  if (patch.force()) AddQuery(out.target, "force", "true");
  return absl::OkStatus();
}

json::object DeleteOptions(bool dry_run) {
  json::object options;
  options["kind"] = "DeleteOptions";
  options["apiVersion"] = "v1";
  // The server ignores the query of a DELETE that has a body.
  if (dry_run) options["dryRun"] = json::array({"All"});
  return options;
}

void SetDelete(const json::object& options, KubeRequest& out) {
  out.method = "DELETE";
  out.body = ToText(options);
  out.headers.emplace_back("Content-Type", "application/json");
}

absl::Status PrepareDelete(const v1::Delete& request, bool dry_run, KubeRequest& out) {
  if (request.uid().empty()) return Invalid("delete.uid is needed: a delete by name alone may hit another object");
  json::object options = DeleteOptions(dry_run);
  json::object preconditions;
  preconditions["uid"] = request.uid();
  if (request.resource_version() != 0) preconditions["resourceVersion"] = std::to_string(request.resource_version());
  options["preconditions"] = std::move(preconditions);
  if (!request.propagation_policy().empty()) options["propagationPolicy"] = request.propagation_policy();
  if (request.has_grace_period_seconds()) options["gracePeriodSeconds"] = request.grace_period_seconds();
  SetDelete(options, out);
  return absl::OkStatus();
}

// The body requests nothing. It keeps the client from sending the request again on a new connection when the old one
// ends without an answer (curl_client.h): the first request, carried out late, would delete pods that were made since.
absl::Status PrepareDeleteCollection(const v1::WriteRequest& request, KubeRequest& out) {
  const v1::DeleteCollection& collection = request.delete_collection();
  if (collection.label_selector().empty()) return Invalid("delete_collection.label_selector is needed");
  if (!request.name().empty() || !request.subresource().empty()) {
    return Invalid("delete_collection: name and subresource must be empty");
  }
  // The answer lists the deleted objects, and nobody reads it.
  out.headers.front().second = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
  AddQuery(out.target, "labelSelector", collection.label_selector());
  if (!collection.field_selector().empty()) AddQuery(out.target, "fieldSelector", collection.field_selector());
  SetDelete(DeleteOptions(request.dry_run()), out);
  return absl::OkStatus();
}

// HTTP drops blanks at both ends of a header.
bool FitsHeader(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// The API server adds these groups by itself, and would check whether the gateway may impersonate each group that is
// named.
bool IsGivenToAll(std::string_view group) {
  return group == "system:authenticated" || group.starts_with("system:serviceaccounts");
}

// Names the user for whom the write is made. The user is impersonated if a header can hold the names. Otherwise, and
// where the gateway may not impersonate, the body of a create or a merge names the user.
absl::Status PrepareUser(const v1::WriteRequest& request, KubeRequest& out) {
  v1::UserToken token;
  v1::UserClaims user;
  if (!token.ParseFromString(request.user_token()) || !user.ParseFromString(token.claims()) || user.user().empty()) {
    return Invalid("user_token: names no user");
  }
  bool fits = FitsHeader(user.user());
  http::Headers headers = {{"Impersonate-User", user.user()}};
  for (const std::string& group : user.groups()) {
    if (IsGivenToAll(group)) continue;
    fits = fits && FitsHeader(group);
    headers.emplace_back("Impersonate-Group", group);
  }
  if (fits) out.impersonation = std::move(headers);
  const bool is_merged = request.has_patch() && request.patch().type() != v1::Patch::TYPE_JSON;
  if (!request.has_create() && !is_merged) return absl::OkStatus();
  BASALT_ASSIGN_OR_RETURN(json::value body, ParseObject("body", out.body));
  BASALT_ASSIGN_OR_RETURN(json::object * metadata, Metadata(body));
  ObjectIn(*metadata, "annotations")[kRequestedBy] = user.user();
  out.named_body = ToText(body);
  if (!fits) out.body = std::exchange(out.named_body, "");
  return absl::OkStatus();
}

// Replaces characters that a header cannot hold: names come from outside.
std::string Plain(std::string_view name) {
  std::string plain(name.substr(0, 253));
  for (char& c : plain) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!fits) c = '_';
  }
  return plain;
}

}  // namespace

absl::StatusOr<std::string> CollectionPath(const v1::Resource& resource, std::string_view ns) {
  if (resource.version().empty() || resource.plural().empty())
    return Invalid("resource: version and plural are needed");
  std::string path = resource.group().empty() ? std::string("/api") : "/apis/" + http::Escape(resource.group());
  path += "/" + http::Escape(resource.version());
  if (!ns.empty()) path += "/namespaces/" + http::Escape(ns);
  return path + "/" + http::Escape(resource.plural());
}

std::string WriterOf(std::string_view product, const v1::Owner& owner) {
  return fmt::format("{} ({}/{} slot {} epoch {})", product, Plain(owner.member().replica()),
                     Plain(owner.member().incarnation()), owner.slot(), owner.slot_epoch());
}

absl::StatusOr<KubeRequest> PrepareWrite(const v1::WriteRequest& request, std::string_view default_field_manager,
                                         std::string_view product, std::string_view job_uid) {
  KubeRequest out;
  BASALT_RETURN_IF_ERROR(CheckName("namespace", request.namespace_()));
  BASALT_RETURN_IF_ERROR(CheckName("name", request.name()));
  BASALT_RETURN_IF_ERROR(CheckSecret(request.resource(), request.name()));
  BASALT_ASSIGN_OR_RETURN(out.target, CollectionPath(request.resource(), request.namespace_()));
  const bool creates = request.has_create() && request.subresource().empty();
  if (!creates && !request.has_delete_collection()) {
    if (request.name().empty()) return Invalid("name is needed");
    out.target += "/" + http::Escape(request.name());
    if (!request.subresource().empty()) out.target += "/" + http::Escape(request.subresource());
  }
  out.headers = {{"Accept", "application/json"}, {"User-Agent", WriterOf(product, request.owner())}};
  // Collections that select by different labels do not wait for each other.
  const bool collection = request.has_delete_collection();
  out.object_key = ObjectKey(request.resource(), request.namespace_(),
                             collection ? request.delete_collection().label_selector() : request.name());
  out.kind = KindOf(request.resource().group(), request.resource().plural());
  switch (request.operation_case()) {
    case v1::WriteRequest::kCreate:
      AddQuery(out.target, "fieldManager", default_field_manager);
      BASALT_RETURN_IF_ERROR(PrepareCreate(request, job_uid, out));
      break;
    case v1::WriteRequest::kPatch:
      BASALT_RETURN_IF_ERROR(PreparePatch(request, default_field_manager, out));
      break;
    case v1::WriteRequest::kDelete:
      BASALT_RETURN_IF_ERROR(PrepareDelete(request.delete_(), request.dry_run(), out));
      break;
    case v1::WriteRequest::kDeleteCollection:
      BASALT_RETURN_IF_ERROR(PrepareDeleteCollection(request, out));
      break;
    case v1::WriteRequest::OPERATION_NOT_SET:
      return Invalid("operation is not set");
  }
  if (request.dry_run() && out.method != "DELETE") AddQuery(out.target, "dryRun", "All");
  if (!request.user_token().empty()) BASALT_RETURN_IF_ERROR(PrepareUser(request, out));
  return out;
}

absl::StatusOr<KubeRequest> PrepareGet(const v1::GetRequest& request, std::string_view product) {
  KubeRequest out;
  if (request.name().empty()) return Invalid("name is needed");
  BASALT_RETURN_IF_ERROR(CheckName("namespace", request.namespace_()));
  BASALT_RETURN_IF_ERROR(CheckName("name", request.name()));
  BASALT_RETURN_IF_ERROR(CheckSecret(request.resource(), request.name()));
  BASALT_ASSIGN_OR_RETURN(out.target, CollectionPath(request.resource(), request.namespace_()));
  out.target += "/" + http::Escape(request.name());
  out.method = "GET";
  out.headers = {{"Accept", "application/json"}, {"User-Agent", std::string(product)}};
  out.kind = KindOf(request.resource().group(), request.resource().plural());
  return out;
}

absl::StatusOr<v1::WriteResponse> ReadWritten(const v1::WriteRequest& request, const http::Response& response,
                                              Decoder& decoder) {
  v1::WriteResponse out;
  // The object of a dry run exists nowhere: it must not reach a cache.
  if (request.has_delete_collection() || request.dry_run()) return out;
  BASALT_ASSIGN_OR_RETURN(Decoded decoded, decoder.DecodeObject(response.body));
  if (decoded.is_status) {
    // The server answers with a Status if the object is gone at once.
    out.set_gone(request.has_delete_());
    return out;
  }
  if (request.has_delete_()) {
    const bool deleting = RefOf(decoded.object).deletion_ms != 0;
    out.set_gone(!deleting || (decoded.deletion_grace_seconds == 0 && !decoded.finalizers));
  }
  *out.mutable_object() = std::move(decoded.object);
  // Watches drop the field, too, so that both give the same state.
  if (out.object().has_kai_pod_group()) out.mutable_object()->mutable_kai_pod_group()->clear_status_json();
  return out;
}

}  // namespace basalt::gateway
