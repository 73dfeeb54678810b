#pragma once

// Tables for people: columns as wide as they need to be.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace basalt::cli {

using Row = std::vector<std::string>;

// Header and rows, columns padded to their widest cell (counted in code points), three spaces between, no trailing
// spaces. With `width` > 0 the last column is cut with "…" so that no line is longer.
std::string FormatTable(const Row& header, const std::vector<Row>& rows, size_t width = 0);

// One line, with or without its end, cut with "…" to `width` code points; 0 = as it is.
std::string CutLine(std::string_view line, size_t width);
// Whole lines, of which there are at most `height` - 1, so that a terminal does not scroll; 0 = all.
std::string_view CutLines(std::string_view text, size_t height);
// Code points of the longest line.
size_t TableWidth(std::string_view text);

// "5s", "3m20s", "4h", "12d", as kubectl writes ages. Negative counts as 0.
std::string FormatAge(int64_t milliseconds);

// Of the terminal; 0 when standard output is none.
size_t TerminalWidth();
size_t TerminalHeight();

}  // namespace basalt::cli
