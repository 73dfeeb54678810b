#include "cli/view/table.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "common/base/excerpt.h"

namespace basalt::cli {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

size_t Length(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

constexpr size_t kLeastColumn = 6;

std::vector<size_t> WidthsOf(const Row& header, const std::vector<Row>& rows) {
  std::vector<size_t> widths(header.size());
  for (size_t i = 0; i < header.size(); ++i) {
    widths[i] = Length(header[i].text);
    for (const Row& row : rows) widths[i] = std::max(widths[i], Length(row[i].text));
  }
  return widths;
}

size_t TotalOf(const std::vector<size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), (widths.size() - 1) * kGap);
}

// Narrows columns until the table is no wider than `width`, or no column can be narrowed further.
void Fit(const Row& header, std::vector<size_t>& widths, size_t width) {
  if (width == 0 || widths.empty()) return;
  size_t total = TotalOf(widths);
  const auto take = [&](size_t& column, size_t least) {
    const size_t taken = std::min(column - std::min(column, least), total - std::min(total, width));
    column -= taken;
    total -= taken;
  };
  if (!header.back().whole) take(widths.back(), kLeastLast);
  while (total > width) {
    size_t* widest = nullptr;
    for (size_t i = 0; i < widths.size(); ++i) {
      if (!header[i].whole && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
    }
    if (widest == nullptr || *widest <= kLeastColumn) return;
    take(*widest, *widest - 1);
  }
}

winsize TerminalSize() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

}  // namespace

Cell Whole(std::string words) {
  Cell cell(std::move(words));
  cell.whole = true;
  return cell;
}

std::string CutLine(std::string_view line, size_t width) {
  const bool ended = line.ends_with('\n');
  if (ended) line.remove_suffix(1);
  if (width == 0 || Length(line) <= width) return fmt::format("{}{}", line, ended ? "\n" : "");
  size_t points = 0;
  size_t end = 0;
  while (end < line.size() && points < width - 1) {
    ++end;
    while (end < line.size() && IsContinuation(line[end])) ++end;
    ++points;
  }
  return fmt::format("{}…{}", line.substr(0, end), ended ? "\n" : "");
}

std::string_view CutLines(std::string_view text, std::optional<size_t> height) {
  if (!height) return text;
  size_t end = 0;
  for (size_t lines = 1; lines < *height && end < text.size(); ++lines) {
    end = std::min(text.size(), text.find('\n', end)) + 1;
  }
  return text.substr(0, std::min(end, text.size()));
}

std::string FitHeight(std::string_view text, std::optional<size_t> height, size_t width, size_t beyond) {
  const size_t lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + beyond;
  if (!height || lines < *height) return std::string(text);
  const std::string_view kept = CutLines(text, *height - 1);
  const size_t left_out = lines - static_cast<size_t>(std::count(kept.begin(), kept.end(), '\n'));
  return fmt::format("{}{}", kept, CutLine(fmt::format("{} more are not shown\n", left_out), width));
}

size_t TableWidth(std::string_view text) {
  size_t widest = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    widest = std::max(widest, Length(line));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return widest;
}

std::string Wrap(std::string_view text, size_t width, size_t indent) {
  if (width == 0) return std::string(text);
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    const size_t length = Length(word);
    if (column > 0 && column + 1 + length > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += length;
  }
  return out;
}

std::string Paragraph(std::string_view text, size_t width, size_t indent) {
  const std::string wrapped = Wrap(text, width == 0 ? 0 : std::max(width, indent + 1) - indent);
  std::string out(indent, ' ');
  for (const char c : wrapped) {
    out += c;
    if (c == '\n') out.append(indent, ' ');
  }
  return out + '\n';
}

bool Fits(const Row& header, const std::vector<Row>& rows, const Look& look) {
  std::vector<size_t> widths = WidthsOf(header, rows);
  if (look.width == 0 || widths.empty()) return true;
  widths.back() = std::min(widths.back(), kLeastLast);
  return TotalOf(widths) <= look.width;
}

std::string FormatTable(const Row& header, const std::vector<Row>& rows, const Look& look) {
  std::vector<size_t> widths = WidthsOf(header, rows);
  Fit(header, widths, look.width);
  std::string text;
  const auto append = [&](const Row& row) {
    size_t used = 0;  // Length of the line in code points, without trailing blanks.
    size_t at = 0;    // Where the column begins.
    for (size_t i = 0; i < row.size(); ++i) {
      // Columns have a least width, so the table may still be too wide for a very narrow terminal.
      const size_t room = look.width == 0 ? widths[i] : std::min(widths[i], look.width - std::min(at, look.width));
      const std::string cell = room == 0 ? std::string() : CutLine(Printable(row[i].text), room);
      if (!cell.empty()) {
        text.append(at - used, ' ');
        text += look.colours ? Paint(cell, row[i].colour) : cell;
        used = at + Length(cell);
      }
      at += widths[i] + kGap;
    }
    text += '\n';
  };
  append(header);
  for (const Row& row : rows) append(row);
  return text;
}

std::string FormatTime(int64_t milliseconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03}", fmt::gmtime(milliseconds / 1000), milliseconds % 1000);
}

std::string OrDash(std::string_view text) { return std::string(text.empty() ? "-" : text); }

std::string FormatAge(int64_t milliseconds) {
  const int64_t seconds = std::max<int64_t>(0, milliseconds / 1000);
  if (seconds < 120) return fmt::format("{}s", seconds);
  const int64_t minutes = seconds / 60;
  if (minutes < 10)
    return seconds % 60 == 0 ? fmt::format("{}m", minutes) : fmt::format("{}m{}s", minutes, seconds % 60);
  if (minutes < 180) return fmt::format("{}m", minutes);
  const int64_t hours = minutes / 60;
  if (hours < 8) return minutes % 60 == 0 ? fmt::format("{}h", hours) : fmt::format("{}h{}m", hours, minutes % 60);
  if (hours < 48) return fmt::format("{}h", hours);
  const int64_t days = hours / 24;
  if (days < 8) return hours % 24 == 0 ? fmt::format("{}d", days) : fmt::format("{}d{}h", days, hours % 24);
  return fmt::format("{}d", days);
}

size_t TerminalWidth() { return TerminalSize().ws_col; }
std::optional<size_t> TerminalHeight() {
  const size_t rows = TerminalSize().ws_row;
  return rows == 0 ? std::nullopt : std::optional(rows);
}

}  // namespace basalt::cli
