#include "cli/view/explain_view.h"

#include <fmt/format.h>

#include "cli/view/table.h"
#include "common/base/excerpt.h"
#include "common/kube/text.h"
#include "common/kube/timestamp.h"

namespace basalt::cli {
namespace {

// Returns "pod group" for KIND_POD_GROUP, and so on.
std::string KindText(job::v1::Cause::Kind kind) {
  std::string text = job::v1::Cause::Kind_Name(kind).substr(5);
  for (char& c : text) c = c == '_' ? ' ' : static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string CauseText(const job::v1::Cause& cause, int64_t now_ms) {
  std::string text = KindText(cause.kind());
  if (!cause.subject().empty()) text += fmt::format(", {}", cause.subject());
  text += fmt::format(": {}", cause.message());
  if (cause.has_since_time()) text += fmt::format(", for {}", FormatAge(now_ms - kube::ToMs(cause.since_time())));
  if (const int64_t until_ms = kube::ToMs(cause.until_time()); until_ms > now_ms) {
    text += fmt::format(", {} in {} ({})", cause.kind() == job::v1::Cause::KIND_DEADLINE ? "due" : "tried again",
                        FormatAge(until_ms - now_ms), kube::FormatTime(until_ms));
  }
  return text;
}

}  // namespace

std::string FormatExplanation(const job::v1::JobExplanation& explanation, size_t width) {
  std::string text = Wrap(Printable(explanation.summary()), width) + "\n";
  if (explanation.causes_size() > 0) text += '\n';
  for (const job::v1::Cause& cause : explanation.causes()) {
    text += Wrap("- " + Printable(CauseText(cause, kube::ToMs(explanation.explain_time()))), width, 2) + "\n";
    if (!cause.advice().empty())
      text += "  " + Wrap("→ " + Printable(cause.advice()), width > 2 ? width - 2 : 0, 4) + "\n";
  }
  return text;
}

}  // namespace basalt::cli
