#include "kubesim/server/discovery/openapi_cache.h"

#include "kubesim/schema/openapi/openapi.h"

namespace basalt::kubesim {

const OpenApiCache::Document& OpenApiCache::Get(std::string_view accept) {
  if (made_for_ != types_.changes()) {
    json_.reset();
    protobuf_.reset();
    made_for_ = types_.changes();
  }
  const bool protobuf = accept.find("protobuf") != std::string_view::npos;
  std::optional<Document>& document = protobuf ? protobuf_ : json_;
  if (!document.has_value()) {
    const json::value made = MakeOpenApi(types_.All());
    document = protobuf ? Document{EncodeOpenApi(made), "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"}
                        : Document{ToText(made), "application/json"};
  }
  return *document;
}

}  // namespace basalt::kubesim
