#pragma once

// Lists of the present state, or of a past state that the log still has. All pages of a list show one state.
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

// The content of a continue token.
struct ContinueToken {
  int64_t version = 0;  // The version of the list's state, or -1 for the state that is current when the token is used.
  ObjectKey after;
};
std::string EncodeContinue(const ContinueToken& token);
absl::StatusOr<ContinueToken> DecodeContinue(std::string_view text);

}  // namespace basalt::kubesim
