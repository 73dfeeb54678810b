#include "tests/e2e/writer.h"

#include <re2/re2.h>

namespace basalt::e2e {

std::optional<Writer> WriterOf(std::string_view user_agent) {
  static const RE2 kPattern(R"(basalt-gateway/[^ ]+ \((([^/ ]+)-[^-/ ]+)/([^/ ]+) slot (\d+) epoch (\d+)\))");
  Writer writer;
  const re2::StringPiece text(user_agent.data(), user_agent.size());
  if (!RE2::FullMatch(text, kPattern, &writer.replica, &writer.service, &writer.incarnation, &writer.slot,
                      &writer.epoch)) {
    return std::nullopt;
  }
  return writer;
}

}  // namespace basalt::e2e
