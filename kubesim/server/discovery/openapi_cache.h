#pragma once

// The encoded OpenAPI document. It is made anew only after the set of kinds has changed. Confined to the server's loop.
#include <cstdint>
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
  // Returns the document as protobuf if `accept` names it, else as JSON. The result lives until the next call.
  const Document& Get(std::string_view accept);

 private:
  const Registry& types_;
  uint64_t made_for_ = 0;
  std::optional<Document> json_;
  std::optional<Document> protobuf_;
};

}  // namespace basalt::kubesim
