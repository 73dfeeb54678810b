#include "kubesim/server/discovery/openapi_cache.h"

#include <utility>

#include "kubesim/schema/openapi/openapi.h"

namespace basalt::kubesim {

const OpenApiCache::Document* OpenApiCache::Find(const std::string& path, std::string_view accept) {
  if (made_for_ != types_.changes()) {
    documents_.clear();
    made_for_ = types_.changes();
  }
  const bool protobuf = path == "v2" && accept.find("protobuf") != std::string_view::npos;
  const std::string key = protobuf ? path + " protobuf" : path;
  if (const auto found = documents_.find(key); found != documents_.end()) return &found->second;
  std::optional<Document> made = Make(path, protobuf);
  if (!made.has_value()) return nullptr;
  return &(documents_[key] = *std::move(made));
}

std::optional<OpenApiCache::Document> OpenApiCache::Make(const std::string& path, bool protobuf) const {
  constexpr char kJson[] = "application/json";
  const std::vector<TypeInfoPtr> types = types_.All();
  if (path == "v2") {
    const json::value document = MakeOpenApiV2(types);
    if (!protobuf) return Document{ToText(document), kJson};
    return Document{EncodeOpenApiV2(document), "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"};
  }
  if (path == "v3") return Document{ToText(MakeOpenApiV3Index(types)), "text/plain; charset=utf-8"};
  std::string group;
  std::string version;
  if (path.starts_with("v3/api/")) {
    version = path.substr(7);
  } else if (path.starts_with("v3/apis/")) {
    const size_t slash = path.find('/', 8);
    if (slash == std::string::npos) return std::nullopt;
    group = path.substr(8, slash - 8);
    version = path.substr(slash + 1);
  } else {
    return std::nullopt;
  }
  const absl::StatusOr<json::value> document = MakeOpenApiV3(types, group, version);
  if (!document.ok()) return std::nullopt;
  return Document{ToText(*document), kJson};
}

}  // namespace basalt::kubesim
