#pragma once

// The encoded OpenAPI documents, made anew only after the set of kinds has changed. Confined to the server's loop.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kubesim/server/state/registry.h"

namespace basalt::kubesim {

class OpenApiCache {
 public:
  explicit OpenApiCache(const Registry& types) : types_(types) {}

  struct Document {
    std::string text;
    std::string content_type;
  };
  // `path` is what follows /openapi/, "v2" or "v3/apis/batch/v1"; null: there is no such document. Lives until the next
  // call.
  const Document* Find(const std::string& path, std::string_view accept);

 private:
  std::optional<Document> Make(const std::string& path, bool protobuf) const;

  const Registry& types_;
  uint64_t made_for_ = 0;
  std::map<std::string, Document> documents_;
};

}  // namespace basalt::kubesim
