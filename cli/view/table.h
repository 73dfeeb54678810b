#pragma once

// Tables for people: columns as wide as they need to be.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/view/look.h"

namespace basalt::cli {

inline constexpr size_t kGap = 3;         // Between columns.
inline constexpr size_t kLeastLast = 16;  // Of words at the end of a line so much is still of use.

struct Cell {
  Cell() = default;
  Cell(std::string words, Colour paint = Colour::kPlain) : text(std::move(words)), colour(paint) {}  // NOLINT: a word.
  Cell(const char* words) : text(words) {}                                                           // NOLINT
  std::string text;
  Colour colour = Colour::kPlain;
  bool whole = false;  // Of a header: its column is not narrowed.
};
// The header of a column whose cells are told apart only by all of their words.
Cell Whole(std::string words);
using Row = std::vector<Cell>;

// Header and rows, columns padded to their widest cell (counted in code points), three spaces between, no trailing
// spaces. Where the table is wider than the look's width the last column gives way first, then whichever is widest of
// those that are not whole: what does not fit is cut with "…". Control characters, which a terminal would obey, are
// shown as "?".
std::string FormatTable(const Row& header, const std::vector<Row>& rows, const Look& look = {});

// No more is cut of it than words in the last column.
bool Fits(const Row& header, const std::vector<Row>& rows, const Look& look);

// One line, with or without its end, cut with "…" to `width` code points; 0 = as it is.
std::string CutLine(std::string_view line, size_t width);
// Lines of at most `width` code points, broken between words, each after the first with `indent` spaces in front; 0 =
// one line. A word that is longer stands alone.
std::string Wrap(std::string_view text, size_t width, size_t indent = 0);
// The same with every line indented, and its end.
std::string Paragraph(std::string_view text, size_t width, size_t indent);
// Whole lines, of which there are at most `height` - 1, so that a terminal does not scroll; without a height all.
std::string_view CutLines(std::string_view text, std::optional<size_t> height);
// The same; where lines are left out the last one says how many, with the `beyond` that do not stand in the text.
std::string FitHeight(std::string_view text, std::optional<size_t> height, size_t width, size_t beyond = 0);
// Code points of the longest line.
size_t TableWidth(std::string_view text);

// "5s", "3m20s", "4h", "12d", as kubectl writes ages. Negative counts as 0.
std::string FormatAge(int64_t milliseconds);
// "2026-05-04 03:02:01.000" of milliseconds since 1970, in UTC.
std::string FormatTime(int64_t milliseconds);
// "-" for nothing.
std::string OrDash(std::string_view text);

// Of the terminal; 0 or nothing where standard output is none, or does not say.
size_t TerminalWidth();
std::optional<size_t> TerminalHeight();

}  // namespace basalt::cli
