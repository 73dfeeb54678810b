#pragma once

// Formats figures as a table for people and as JSON for scripts. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"

namespace basalt::bench {

struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
  std::string goal;  // For people. Empty if the figure is reported for comparison only.
  bool met = true;
  std::vector<double> runs;  // `value` is the median of `runs`. Empty if the figure is counted and not measured.
  std::vector<std::string> notes;
};

double Median(std::vector<double> values);
Figure MedianOf(std::string name, std::vector<double> runs, std::string unit);
// Sets the goal that the value is at most `most`, which is written as `text` or, if that is empty, in the shortest
// form.
void SetMost(double most, Figure& figure, std::string_view text = "");

// Formats a number: 12345678 -> "12 345 678". A fraction is kept, with two digits, only below 100.
std::string Number(double value);

std::string Table(const std::vector<Figure>& figures);
json::value ToJson(const std::vector<Figure>& figures);

}  // namespace basalt::bench
