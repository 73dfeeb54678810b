#pragma once

// Tables for people: columns as wide as they need to be.
#include <cstdint>
#include <string>
#include <vector>

namespace basalt::cli {

using Row = std::vector<std::string>;

// Header and rows, columns padded to their widest cell (counted in code points), three spaces between, no trailing
// spaces. With `width` > 0 the last column is cut with "…" so that no line is longer.
std::string FormatTable(const Row& header, const std::vector<Row>& rows, size_t width = 0);

// "5s", "3m20s", "4h", "12d", as kubectl writes ages. Negative counts as 0.
std::string FormatAge(int64_t milliseconds);

// The terminal's width; 0 when standard output is no terminal.
size_t TerminalWidth();

}  // namespace basalt::cli
