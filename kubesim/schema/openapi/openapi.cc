#include "kubesim/schema/openapi/openapi.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/base/status.h"
#include "kubesim/schema/core/json_members.h"

namespace basalt::kubesim {
namespace {

constexpr std::string_view kVersion = "v1.36.0";

json::string_view View(std::string_view text) { return {text.data(), text.size()}; }

json::object Gvk(const TypeInfo& type) {
  return {{"group", type.group}, {"kind", type.kind}, {"version", type.version}};
}

// "io.k8s.api.core.v1.Pod", "sh.volcano.batch.v1alpha1.Job": the group backwards.
std::string DefinitionName(const TypeInfo& type) {
  if (type.group.empty()) return fmt::format("io.k8s.api.core.{}.{}", type.version, type.kind);
  std::string name;
  std::string_view rest = type.group;
  while (!rest.empty()) {
    const size_t dot = rest.rfind('.');
    const std::string_view part = dot == std::string_view::npos ? rest : rest.substr(dot + 1);
    name += fmt::format("{}{}", name.empty() ? "" : ".", part);
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(0, dot);
  }
  return fmt::format("{}.{}.{}", name, type.version, type.kind);
}

// A schema for clients: what says how values look stays, what version 2 has no word for or a client would read too
// strictly goes.
json::value ForClients(const json::value& schema, bool v2) {
  if (!schema.is_object()) return json::object();
  json::object out;
  const auto copy = [&](std::string_view name) {
    if (const json::value* found = Find(schema, name)) out[View(name)] = *found;
  };
  copy("description");
  copy("x-kubernetes-list-type");
  copy("x-kubernetes-list-map-keys");
  copy("x-kubernetes-map-type");
  if (IsTrue(schema, "x-kubernetes-int-or-string")) {
    copy("x-kubernetes-int-or-string");
    if (!v2) out["anyOf"] = json::array{json::object{{"type", "integer"}}, json::object{{"type", "string"}}};
    return out;
  }
  if (IsTrue(schema, "x-kubernetes-preserve-unknown-fields")) {
    copy("x-kubernetes-preserve-unknown-fields");
    if (v2) {
      copy("type");
      return out;
    }
  }
  for (const std::string_view name : {"type", "format", "required", "enum", "default"}) copy(name);
  if (!v2) copy("nullable");
  if (const json::value* items = Find(schema, "items")) out["items"] = ForClients(*items, v2);
  if (const json::value* additional = Find(schema, "additionalProperties")) {
    out["additionalProperties"] = additional->is_bool() ? json::value(json::object()) : ForClients(*additional, v2);
  }
  if (const json::value* properties = Find(schema, "properties"); properties != nullptr && properties->is_object()) {
    json::object children;
    for (const auto& member : properties->get_object()) children[member.key()] = ForClients(member.value(), v2);
    out["properties"] = std::move(children);
  }
  return out;
}

json::value Definition(const TypeInfo& type, bool v2) {
  json::object out = type.open_api_schema.is_object() ? ForClients(type.open_api_schema, v2).get_object()
                                                      : json::object{{"type", "object"}};
  if (type.open_api_schema.is_object()) {
    json::object& properties =
        out["properties"].is_object() ? out["properties"].get_object() : out["properties"].emplace_object();
    properties["apiVersion"] = json::object{{"type", "string"}};
    properties["kind"] = json::object{{"type", "string"}};
    properties["metadata"] = json::object{{"type", "object"}, {"description", "Standard object's metadata."}};
  } else {
    out["x-kubernetes-preserve-unknown-fields"] = true;
  }
  out["x-kubernetes-group-version-kind"] = json::array{Gvk(type)};
  return out;
}

json::array Parameters(bool v2, bool is_apply) {
  json::array out;
  const auto add = [&](json::string_view name, json::string_view type) {
    json::object parameter{{"in", "query"}, {"name", name}};
    if (v2) {
      parameter["type"] = type;
      parameter["uniqueItems"] = true;
    } else {
      parameter["schema"] = {{"type", type}, {"uniqueItems", true}};
    }
    out.push_back(std::move(parameter));
  };
  add("dryRun", "string");
  add("fieldManager", "string");
  add("fieldValidation", "string");
  if (is_apply) add("force", "boolean");
  return out;
}

json::object Operation(const TypeInfo& type, json::string_view action, bool v2) {
  json::object operation{{"operationId", std::string(action) + type.kind + type.version + type.group},
                         {"responses", {{"200", {{"description", "OK"}}}}},
                         {"x-kubernetes-action", action},
                         {"x-kubernetes-group-version-kind", Gvk(type)}};
  if (action == "post" || action == "put" || action == "patch") {
    operation["parameters"] = Parameters(v2, action == "patch");
  }
  if (action != "patch") return operation;
  const json::array kinds = {"application/json-patch+json", "application/merge-patch+json",
                             "application/apply-patch+yaml"};
  if (v2) {
    operation["consumes"] = kinds;
  } else {
    json::object content;
    for (const json::value& kind : kinds) content[kind.get_string()] = {{"schema", {{"type", "object"}}}};
    operation["requestBody"] = {{"content", std::move(content)}};
  }
  return operation;
}

void AddPaths(const TypeInfo& type, bool v2, json::object& paths) {
  const std::string prefix = type.group.empty() ? "/api/" + type.version : "/apis/" + type.group + "/" + type.version;
  const std::string collection = prefix + (type.namespaced ? "/namespaces/{namespace}/" : "/") + type.plural;
  paths[collection] = {{"get", Operation(type, "list", v2)}, {"post", Operation(type, "post", v2)}};
  const auto item = [&] {
    return json::object{{"get", Operation(type, "get", v2)},
                        {"put", Operation(type, "put", v2)},
                        {"patch", Operation(type, "patch", v2)},
                        {"delete", Operation(type, "delete", v2)}};
  };
  paths[collection + "/{name}"] = item();
  if (type.namespaced) paths[prefix + "/" + type.plural] = {{"get", Operation(type, "list", v2)}};
}

json::object Info() { return {{"title", "Kubernetes"}, {"version", View(kVersion)}}; }

std::string GroupPath(const TypeInfo& type) {
  return type.group.empty() ? "api/" + type.version : "apis/" + type.group + "/" + type.version;
}

uint64_t Hash(std::string_view text) {
  uint64_t hash = 14695981039346656037ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}

}  // namespace

json::value MakeOpenApiV2(const std::vector<TypeInfoPtr>& types) {
  json::object paths;
  json::object definitions;
  for (const TypeInfoPtr& type : types) {
    AddPaths(*type, /*v2=*/true, paths);
    definitions[DefinitionName(*type)] = Definition(*type, /*v2=*/true);
  }
  return json::object{
      {"swagger", "2.0"}, {"info", Info()}, {"paths", std::move(paths)}, {"definitions", std::move(definitions)}};
}

json::value MakeOpenApiV3Index(const std::vector<TypeInfoPtr>& types) {
  std::map<std::string, std::string> groups;
  for (const TypeInfoPtr& type : types) {
    groups[GroupPath(*type)] += type->kind + ToText(type->open_api_schema);
  }
  json::object paths;
  for (const auto& [path, text] : groups) {
    // Clients keep a document for as long as its hash stays.
    paths[path] = {{"serverRelativeURL", fmt::format("/openapi/v3/{}?hash={:016X}", path, Hash(text))}};
  }
  return json::object{{"paths", std::move(paths)}};
}

absl::StatusOr<json::value> MakeOpenApiV3(const std::vector<TypeInfoPtr>& types, std::string_view group,
                                          std::string_view version) {
  json::object paths;
  json::object schemas;
  for (const TypeInfoPtr& type : types) {
    if (type->group != group || type->version != version) continue;
    AddPaths(*type, /*v2=*/false, paths);
    schemas[DefinitionName(*type)] = Definition(*type, /*v2=*/false);
  }
  if (schemas.empty()) {
    return MakeStatus(absl::StatusCode::kNotFound, fmt::format("no kinds in group '{}' version '{}'", group, version));
  }
  return json::object{{"openapi", "3.0.0"},
                      {"info", Info()},
                      {"paths", std::move(paths)},
                      {"components", {{"schemas", std::move(schemas)}}}};
}

}  // namespace basalt::kubesim
