#include "tests/examples/promise.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/text.h"

namespace basalt::examples {
namespace {

constexpr std::array<std::string_view, 6> kCounts = {"pending", "running", "succeeded",
                                                     "failed",  "unknown", "terminating"};

absl::Status Invalid(std::string_view line, std::string_view what) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, fmt::format("'{}': {}", line, what));
}

std::string_view Trim(std::string_view text) { return ToStd(absl::StripAsciiWhitespace(ToAbsl(text))); }

std::vector<std::string> List(std::string_view text) {
  std::vector<std::string> items;
  for (const absl::string_view item : absl::StrSplit(ToAbsl(text), ',')) items.emplace_back(Trim(ToStd(item)));
  return items;
}

std::optional<int64_t> Number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool IsPhase(std::string_view text) { return !text.empty() && kube::ParseJobPhase(text).has_value(); }

// Splits a command into words as a shell does, but knows only single quotes.
std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  bool quoted = false;
  bool open = false;
  for (const char c : text) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    if (c != '\'') words.back() += c;
  }
  return words;
}

absl::StatusOr<std::map<std::string, int64_t>> Counts(std::string_view line, std::string_view text) {
  std::map<std::string, int64_t> counts;
  for (const std::string_view name : kCounts) counts[std::string(name)] = 0;
  if (text == "none") return counts;
  for (const std::string& item : List(text)) {
    const std::vector<std::string> parts = Words(item);
    const std::optional<int64_t> number = parts.size() == 2 ? Number(parts[0]) : std::nullopt;
    if (!number || !counts.contains(parts[1])) return Invalid(line, "say for example 2 succeeded, 1 failed, or none");
    counts[parts[1]] = *number;
  }
  return counts;
}

absl::StatusOr<std::pair<absl::Duration, absl::Duration>> Range(std::string_view line, std::string_view text) {
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return Invalid(line, "say for example 10s-20s");
  BASALT_ASSIGN_OR_RETURN(const absl::Duration least, kube::ParseGoDuration(text.substr(0, dash)));
  BASALT_ASSIGN_OR_RETURN(const absl::Duration most, kube::ParseGoDuration(text.substr(dash + 1)));
  return std::pair(least, most);
}

absl::Status ReadLine(std::string_view line, Promise& promise) {
  const size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return Invalid(line, "is no promise; an empty comment line ends them");
  const std::string_view key = line.substr(0, colon);
  const std::string_view value = Trim(line.substr(colon + 2));
  const auto number = [&](auto& member) {
    const std::optional<int64_t> read = Number(value);
    if (!read) return Invalid(line, "is no number");
    member = *read;
    return absl::OkStatus();
  };
  if (key == "ends" || key == "stays") {
    promise.ends = value;
    promise.stays = key == "stays";
    const bool other = !promise.stays && (value == kDeleted || value == kRefused);
    return other || IsPhase(value) ? absl::OkStatus() : Invalid(line, "is no phase, nor Deleted or Refused");
  }
  if (key.starts_with("at ")) {
    Step step{std::string(key.substr(3)), Words(value)};
    if (step.phase != kDeleted && !IsPhase(step.phase)) return Invalid(line, "is no phase, nor Deleted");
    promise.steps.push_back(std::move(step));
    return absl::OkStatus();
  }
  if (key == "phases") {
    promise.phases = List(value);
    for (const std::string& phase : promise.phases) {
      if (!IsPhase(phase)) return Invalid(line, fmt::format("{} is no phase", phase));
    }
    return absl::OkStatus();
  }
  if (key == "pods") {
    BASALT_ASSIGN_OR_RETURN(promise.pods, Counts(line, value));
    return absl::OkStatus();
  }
  if (key == "lasts") {
    BASALT_ASSIGN_OR_RETURN(promise.lasts, Range(line, value));
    return absl::OkStatus();
  }
  if (key == "retries") return number(promise.retries);
  if (key == "version") return number(promise.version);
  if (key == "made") return number(promise.made);
  if (key == "makes") promise.makes = List(value);
  if (key == "order") promise.order = List(value);
  if (key == "events") promise.events = List(value);
  if (key == "says") promise.says.emplace_back(value);
  const bool known = key == "makes" || key == "order" || key == "events" || key == "says";
  return known ? absl::OkStatus() : Invalid(line, "is no promise; an empty comment line ends them");
}

}  // namespace

absl::StatusOr<Promise> ParsePromise(std::string_view text) {
  Promise promise;
  for (const absl::string_view each : absl::StrSplit(ToAbsl(text), '\n')) {
    const std::string_view line = ToStd(each);
    if (!line.starts_with("# ") || Trim(line.substr(1)).empty()) break;
    BASALT_RETURN_IF_ERROR(ReadLine(Trim(line.substr(1)), promise));
  }
  if (promise.ends.empty()) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      "nothing is promised; begin with a line like '# ends: Completed'");
  }
  return promise;
}

}  // namespace basalt::examples
