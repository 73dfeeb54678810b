#pragma once

// What the output may use: as wide as the terminal, and in colour where somebody sees it. In a pipe neither.
#include <cstddef>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::cli {

struct Look {
  size_t width = 0;  // No line is longer; 0 = any.
  bool colours = false;
};

enum class Colour { kPlain, kGreen, kRed, kYellow };

std::string Paint(std::string_view text, Colour colour);
// Of a terminal that shows colours, unless NO_COLOR is set (https://no-color.org). Null: the variable is not set.
bool UsesColours(bool is_terminal, const char* no_color, const char* term);
// Of standard output.
Look StandardLook();
// Standard output is a terminal that moves its cursor.
bool CanRedraw();

// Green: it has ended well. Red: it has not. Yellow: on its way, or somebody has to do something.
Colour ColourOf(kube::v1::JobPhase phase);
Colour ColourOf(kube::v1::PodPhase phase);

}  // namespace basalt::cli
