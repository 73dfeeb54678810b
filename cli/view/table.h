#pragma once

// Tables for people. Columns are as wide as their cells.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/view/look.h"

namespace basalt::cli {

inline constexpr size_t kGap = 3;         // Number of spaces between columns.
inline constexpr size_t kLeastLast = 16;  // A last column that is cut to this width is still of use.

struct Cell {
  Cell() = default;
  Cell(std::string words, Colour paint = Colour::kPlain) : text(std::move(words)), colour(paint) {}  // NOLINT: a word.
  Cell(const char* words) : text(words) {}                                                           // NOLINT
  std::string text;
  Colour colour = Colour::kPlain;
  bool whole = false;  // The column of this header is not narrowed.
};
// Returns the header of a column whose cells must not be cut, since only their whole text is unique.
Cell Whole(std::string words);
using Row = std::vector<Cell>;

// Returns header and rows. Columns are padded to their widest cell (counted in code points), with three spaces between
// and no trailing spaces. If the table is wider than the look's width, the last column is narrowed first, then the
// widest column that is not whole, and so on; text that does not fit is cut with "…". Control characters, which a
// terminal would obey, are shown as "?".
std::string FormatTable(const Row& header, const std::vector<Row>& rows, const Look& look = {});

// Returns whether FormatTable would cut text in the last column only, and leave it kLeastLast wide.
bool Fits(const Row& header, const std::vector<Row>& rows, const Look& look);

// Cuts one line, with or without newline, with "…" to `width` code points. Width 0 means no limit.
std::string CutLine(std::string_view line, size_t width);
// Breaks the text between words into lines of at most `width` code points. Each line after the first begins with
// `indent` spaces. A longer word stands alone in a line. Width 0 means no limit.
std::string Wrap(std::string_view text, size_t width, size_t indent = 0);
// Wraps the text as Wrap() does, but every line is indented, and the last one ends with a newline.
std::string Paragraph(std::string_view text, size_t width, size_t indent);
// Returns the first `height` - 1 lines, so that a terminal of this height does not scroll. All lines without a height.
std::string_view CutLines(std::string_view text, std::optional<size_t> height);
// Returns the lines that fit as CutLines() does. If lines are left out, the last line states how many. `beyond` counts
// further lines that are not in the text.
std::string FitHeight(std::string_view text, std::optional<size_t> height, size_t width, size_t beyond = 0);
// Returns the number of code points of the longest line.
size_t TableWidth(std::string_view text);

// Returns an age as kubectl writes it: "5s", "3m20s", "4h", "12d". A negative age counts as 0.
std::string FormatAge(int64_t milliseconds);
// Returns a time in UTC, given in milliseconds since 1970, as "2026-05-04 03:02:01.000".
std::string FormatTime(int64_t milliseconds);
// Returns the text, or "-" if it is empty.
std::string OrDash(std::string_view text);

// The size of the terminal. 0 and nullopt if standard output is no terminal, or one that does not state its size.
size_t TerminalWidth();
std::optional<size_t> TerminalHeight();

}  // namespace basalt::cli
