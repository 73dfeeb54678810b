#pragma once

// The width and the colours of the output. On a terminal, lines fit its width and may have colours. In a pipe there is
// no limit and no colour.
#include <cstddef>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::cli {

struct Look {
  size_t width = 0;  // The limit of a line's length. 0 for no limit.
  bool colours = false;
};

enum class Colour { kPlain, kGreen, kRed, kYellow };

std::string Paint(std::string_view text, Colour colour);
// Returns whether output has colours: on a terminal that shows them, unless NO_COLOR is set (https://no-color.org).
// `no_color` and `term` are the values of NO_COLOR and TERM, null if the variable is not set.
bool UsesColours(bool is_terminal, const char* no_color, const char* term);
// Returns the look of standard output.
Look StandardLook();
// Returns whether standard output is a terminal that moves its cursor.
bool CanRedraw();

// Green for a good end, red for a bad end, yellow for a phase that passes or needs somebody's action, plain for others.
Colour ColourOf(kube::v1::JobPhase phase);
Colour ColourOf(kube::v1::PodPhase phase);

}  // namespace basalt::cli
