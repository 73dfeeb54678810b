#pragma once

// Lists: of now, of a past state that the log still reaches, and in pages that belong to one state.
#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kubesim/server/request/request_info.h"
#include "kubesim/server/state/core.h"

namespace basalt::kubesim {

struct ListResult {
  std::vector<RevisionPtr> items;
  ListMetadata metadata;
};

absl::StatusOr<ListResult> List(const Core& core, const RequestInfo& info);

// What a continue token says. Version -1: of the state that is current when it comes back.
struct ContinueToken {
  int64_t version = 0;
  ObjectKey after;
};
std::string EncodeContinue(const ContinueToken& token);
absl::StatusOr<ContinueToken> DecodeContinue(std::string_view text);

}  // namespace basalt::kubesim
