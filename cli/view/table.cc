#include "cli/view/table.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace basalt::cli {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

size_t Length(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

winsize TerminalSize() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

}  // namespace

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

std::string_view CutLines(std::string_view text, size_t height) {
  if (height == 0) return text;
  size_t end = 0;
  for (size_t lines = 1; lines < height && end < text.size(); ++lines) {
    end = std::min(text.size(), text.find('\n', end)) + 1;
  }
  return text.substr(0, std::min(end, text.size()));
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

std::string FormatTable(const Row& header, const std::vector<Row>& rows, size_t width) {
  std::vector<size_t> widths(header.size());
  for (size_t i = 0; i < header.size(); ++i) {
    widths[i] = Length(header[i]);
    for (const Row& row : rows) widths[i] = std::max(widths[i], Length(row[i]));
  }
  std::string text;
  const auto append = [&](const Row& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - Length(row[i]) + 3, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += CutLine(line, width);
    text += '\n';
  };
  append(header);
  for (const Row& row : rows) append(row);
  return text;
}

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
size_t TerminalHeight() { return TerminalSize().ws_row; }

}  // namespace basalt::cli
