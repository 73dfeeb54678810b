#include "cli/view/look.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/view/table.h"

namespace basalt::cli {

std::string Paint(std::string_view text, Colour colour) {
  switch (colour) {
    case Colour::kPlain:
      break;
    case Colour::kGreen:
      return fmt::format("\x1b[32m{}\x1b[0m", text);
    case Colour::kRed:
      return fmt::format("\x1b[31m{}\x1b[0m", text);
    case Colour::kYellow:
      return fmt::format("\x1b[33m{}\x1b[0m", text);
  }
  return std::string(text);
}

namespace {

bool ObeysEscapes(const char* term) { return term != nullptr && *term != '\0' && std::string_view(term) != "dumb"; }

}  // namespace

bool UsesColours(bool is_terminal, const char* no_color, const char* term) {
  const bool refused = no_color != nullptr && *no_color != '\0';
  return is_terminal && !refused && ObeysEscapes(term);
}

bool CanRedraw() { return isatty(STDOUT_FILENO) != 0 && ObeysEscapes(std::getenv("TERM")); }

Look StandardLook() {
  return {.width = TerminalWidth(),
          .colours = UsesColours(isatty(STDOUT_FILENO) != 0, std::getenv("NO_COLOR"), std::getenv("TERM"))};
}

Colour ColourOf(kube::v1::JobPhase phase) {
  switch (phase) {
    case kube::v1::JOB_PHASE_COMPLETED:
      return Colour::kGreen;
    case kube::v1::JOB_PHASE_FAILED:
    case kube::v1::JOB_PHASE_TERMINATED:
      return Colour::kRed;
    case kube::v1::JOB_PHASE_PENDING:
    case kube::v1::JOB_PHASE_RESTARTING:
    case kube::v1::JOB_PHASE_COMPLETING:
    case kube::v1::JOB_PHASE_TERMINATING:
    case kube::v1::JOB_PHASE_ABORTING:
    case kube::v1::JOB_PHASE_ABORTED:
      return Colour::kYellow;
    default:
      return Colour::kPlain;
  }
}

Colour ColourOf(kube::v1::PodPhase phase) {
  switch (phase) {
    case kube::v1::POD_PHASE_SUCCEEDED:
      return Colour::kGreen;
    case kube::v1::POD_PHASE_FAILED:
      return Colour::kRed;
    case kube::v1::POD_PHASE_PENDING:
    case kube::v1::POD_PHASE_UNKNOWN:
      return Colour::kYellow;
    default:
      return Colour::kPlain;
  }
}

}  // namespace basalt::cli
