#include "kubesim/server/tables.h"

#include "absl/time/time.h"

namespace basalt::kubesim {
namespace {

json::value RowObject(const json::value& object, const Representation& how) {
  if (how.include_object == "None") return nullptr;
  if (how.include_object == "Object") return object;
  json::object out = {{"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/" + how.version}};
  if (const json::value* metadata = Find(object, "metadata")) out["metadata"] = *metadata;
  return out;
}

}  // namespace

json::value TableOf(const TypeInfo&, const std::vector<const json::value*>& objects, const ListMetadata& metadata,
                    const Representation& how, bool columns, absl::Time) {
  json::array rows;
  for (const json::value* object : objects) {
    const json::value* name = FindPath(*object, {"metadata", "name"});
    const json::value* made = FindPath(*object, {"metadata", "creationTimestamp"});
    rows.push_back(json::object{{"cells", json::array{name == nullptr ? "" : *name, made == nullptr ? "" : *made}},
                                {"object", RowObject(*object, how)}});
  }
  json::object meta = {{"resourceVersion", std::to_string(metadata.version)}};
  if (!metadata.continue_token.empty()) meta["continue"] = metadata.continue_token;
  json::object out = {{"kind", "Table"}, {"apiVersion", "meta.k8s.io/" + how.version}, {"metadata", std::move(meta)}};
  out["columnDefinitions"] = nullptr;
  if (columns) {
    json::array definitions;
    for (const char* name : {"Name", "Created At"}) {
      definitions.push_back(json::object{{"name", name},
                                         {"type", "string"},
                                         {"format", name == std::string_view("Name") ? "name" : ""},
                                         {"description", ""},
                                         {"priority", 0}});
    }
    out["columnDefinitions"] = std::move(definitions);
  }
  out["rows"] = std::move(rows);
  return out;
}

}  // namespace basalt::kubesim
