#include "common/rpc/protocols.h"

#include <fmt/format.h>

namespace basalt::rpc {

gateway::v1::ProtocolRange RangeOf(const Protocols& protocols) {
  gateway::v1::ProtocolRange range;
  range.set_oldest(protocols.oldest);
  range.set_newest(protocols.newest);
  return range;
}

std::string WhyRefused(const Protocols& ours, const gateway::v1::ProtocolRange& theirs) {
  if (theirs.oldest() == 0) return "protocols differ: the other process states none";
  if (theirs.newest() < theirs.oldest()) {
    return fmt::format("protocols differ: {} to {} of the other process is no range", theirs.oldest(), theirs.newest());
  }
  if (theirs.oldest() <= ours.newest && ours.oldest <= theirs.newest()) return {};
  return fmt::format(
      "protocols differ: this process speaks {} to {}, the other one {} to {}; upgrade one release at a "
      "time",
      ours.oldest, ours.newest, theirs.oldest(), theirs.newest());
}

}  // namespace basalt::rpc
