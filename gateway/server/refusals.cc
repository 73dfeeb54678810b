#include "gateway/server/refusals.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/obs/log.h"

namespace basalt::gateway {

void Refusals::Note(std::string_view call, const v1::Member& sender, std::string_view reason, const absl::Status& why) {
  metrics_.CountRefusal(call, sender.service(), reason);
  const std::optional<int64_t> others = logged_.Take(loop_.Now());
  if (!others.has_value()) return;
  obs::LogWarning("refused", {{"call", std::string(call)},
                              {"service", std::string(ServiceName(sender.service()))},
                              {"replica", Excerpt(sender.replica())},
                              {"reason", std::string(reason)},
                              {"why", Excerpt(ToStd(why.message()), 1000)},
                              {"others_since_the_last", fmt::to_string(*others)}});
}

}  // namespace basalt::gateway
