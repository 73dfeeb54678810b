#include "kubesim/schema/openapi/openapi.h"

#include <fmt/format.h>

#include "kubesim/schema/core/json_members.h"

namespace basalt::kubesim {
namespace {

constexpr std::string_view kVersion = "v1.36.0";

json::string_view View(std::string_view text) { return {text.data(), text.size()}; }

json::object Gvk(const TypeInfo& type) {
  return {{"group", type.group}, {"kind", type.kind}, {"version", type.version}};
}

// Returns the name of a definition, which begins with the reversed group: "io.k8s.api.core.v1.Pod",
// "sh.volcano.batch.v1alpha1.Job".
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

// Returns a schema for clients with the keywords that describe values. Keywords that version 2 lacks, or that a client
// would apply too strictly, are left out.
json::value ForClients(const json::value& schema) {
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
    return out;
  }
  if (IsTrue(schema, "x-kubernetes-preserve-unknown-fields")) {
    copy("x-kubernetes-preserve-unknown-fields");
    copy("type");
    return out;
  }
  for (const std::string_view name : {"type", "format", "required", "enum", "default"}) copy(name);
  if (const json::value* items = Find(schema, "items")) out["items"] = ForClients(*items);
  if (const json::value* additional = Find(schema, "additionalProperties")) {
    out["additionalProperties"] = additional->is_bool() ? json::value(json::object()) : ForClients(*additional);
  }
  if (const json::value* properties = Find(schema, "properties"); properties != nullptr && properties->is_object()) {
    json::object children;
    for (const auto& member : properties->get_object()) children[member.key()] = ForClients(member.value());
    out["properties"] = std::move(children);
  }
  return out;
}

json::value Definition(const TypeInfo& type) {
  json::object out = type.open_api_schema.is_object() ? ForClients(type.open_api_schema).get_object()
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

json::array Parameters(bool is_apply) {
  json::array out;
  const auto add = [&](json::string_view name, json::string_view type) {
    out.push_back(json::object{{"in", "query"}, {"name", name}, {"type", type}, {"uniqueItems", true}});
  };
  add("dryRun", "string");
  add("fieldManager", "string");
  add("fieldValidation", "string");
  if (is_apply) add("force", "boolean");
  return out;
}

json::object Operation(const TypeInfo& type, json::string_view action) {
  json::object operation{{"operationId", std::string(action) + type.kind + type.version + type.group},
                         {"responses", {{"200", {{"description", "OK"}}}}},
                         {"x-kubernetes-action", action},
                         {"x-kubernetes-group-version-kind", Gvk(type)}};
  if (action == "post" || action == "put" || action == "patch") {
    operation["parameters"] = Parameters(action == "patch");
  }
  if (action == "patch") {
    operation["consumes"] =
        json::array{"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"};
  }
  return operation;
}

void AddPaths(const TypeInfo& type, json::object& paths) {
  const std::string prefix = type.group.empty() ? "/api/" + type.version : "/apis/" + type.group + "/" + type.version;
  const std::string collection = prefix + (type.namespaced ? "/namespaces/{namespace}/" : "/") + type.plural;
  paths[collection] = {{"get", Operation(type, "list")}, {"post", Operation(type, "post")}};
  const auto item = [&] {
    return json::object{{"get", Operation(type, "get")},
                        {"put", Operation(type, "put")},
                        {"patch", Operation(type, "patch")},
                        {"delete", Operation(type, "delete")}};
  };
  paths[collection + "/{name}"] = item();
  if (type.namespaced) paths[prefix + "/" + type.plural] = {{"get", Operation(type, "list")}};
}

json::object Info() { return {{"title", "Kubernetes"}, {"version", View(kVersion)}}; }

}  // namespace

json::value MakeOpenApi(const std::vector<TypeInfoPtr>& types) {
  json::object paths;
  json::object definitions;
  for (const TypeInfoPtr& type : types) {
    AddPaths(*type, paths);
    definitions[DefinitionName(*type)] = Definition(*type);
  }
  return json::object{
      {"swagger", "2.0"}, {"info", Info()}, {"paths", std::move(paths)}, {"definitions", std::move(definitions)}};
}

}  // namespace basalt::kubesim
