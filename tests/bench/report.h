#pragma once

// Formats figures as a table for people and as JSON for scripts. Pure.
#include <map>
#include <string>
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

// Formats a number: 12345678 -> "12 345 678". A fraction is kept, with two digits, only below 100.
std::string Number(double value);

std::string Table(const std::vector<Figure>& figures);
json::value ToJson(const std::vector<Figure>& figures);

}  // namespace basalt::bench
