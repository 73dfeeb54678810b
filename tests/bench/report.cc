#include "tests/bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace basalt::bench {

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Figure MedianOf(std::string name, std::vector<double> runs, std::string unit) {
  const double median = Median(runs);
  return {.name = std::move(name), .value = median, .unit = std::move(unit), .runs = std::move(runs)};
}

void SetMost(double most, Figure& figure, std::string_view text) {
  figure.goal = text.empty() ? fmt::format("<= {:g}", most) : fmt::format("<= {}", text);
  figure.met = figure.value <= most;
}

std::string Number(double value) {
  if (std::abs(value) < 100 && value != std::floor(value)) return fmt::format("{:.2f}", value);
  std::string digits = fmt::format("{:.0f}", value);
  for (int at = static_cast<int>(digits.size()) - 3; at > (digits[0] == '-' ? 1 : 0); at -= 3) digits.insert(at, " ");
  return digits;
}

std::string Table(const std::vector<Figure>& figures) {
  std::string table = fmt::format("{:<58} {:>14} {:<12} {:<18} {}\n", "figure", "value", "unit", "goal", "runs");
  table += std::string(132, '-') + "\n";
  for (const Figure& figure : figures) {
    std::string runs;
    if (figure.runs.size() > 1) {
      const auto [least, most] = std::minmax_element(figure.runs.begin(), figure.runs.end());
      runs = fmt::format("median of {}, {} to {}", figure.runs.size(), Number(*least), Number(*most));
    }
    const std::string goal =
        figure.goal.empty() ? std::string() : fmt::format("{} {}", figure.goal, figure.met ? "met" : "MISSED");
    table +=
        fmt::format("{:<58} {:>14} {:<12} {:<18} {}\n", figure.name, Number(figure.value), figure.unit, goal, runs);
    for (const std::string& note : figure.notes) table += fmt::format("    {}\n", note);
  }
  return table;
}

json::value ToJson(const std::vector<Figure>& figures) {
  json::array list;
  for (const Figure& figure : figures) {
    json::object one{{"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}};
    if (!figure.goal.empty()) {
      one["goal"] = figure.goal;
      one["met"] = figure.met;
    }
    if (!figure.runs.empty()) one["runs"] = json::value_from(figure.runs);
    if (!figure.notes.empty()) one["notes"] = json::value_from(figure.notes);
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace basalt::bench
