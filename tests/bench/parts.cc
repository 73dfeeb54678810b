#include "tests/bench/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <thread>
#include <utility>

namespace basalt::bench {

int RunParts(const PartsOptions& options, const std::vector<Part>& parts) {
  const std::vector<std::string>& only = options.only;
  for (const std::string& name : only) {
    if (std::none_of(parts.begin(), parts.end(), [&](const Part& part) { return part.name == name; })) {
      fmt::print(stderr, "{}: --only={} is no part of it\n", options.program, name);
      return 2;
    }
  }
  std::vector<Figure> figures;
  for (const Part& part : parts) {
    if (!only.empty() && std::find(only.begin(), only.end(), part.name) == only.end()) continue;
    absl::StatusOr<std::vector<Figure>> measured =
        part.measure([&](const std::string& what) { fmt::print(stderr, "{}: {}\n", options.program, what); });
    if (!measured.ok()) {
      fmt::print(stderr, "{}: {}: {}\n", options.program, part.name, measured.status().ToString());
      return 1;
    }
    std::move(measured->begin(), measured->end(), std::back_inserter(figures));
  }
  const unsigned cores = std::thread::hardware_concurrency();
  const std::string_view server = options.real ? "real" : "kubesim";
  if (options.json) {
    fmt::print("{}\n", ToText(json::object{{"cores", cores}, {"api_server", server}, {"figures", ToJson(figures)}}));
  } else {
    fmt::print("{}{} cores; API server: {}\n", Table(figures), cores, server);
  }
  return 0;
}

}  // namespace basalt::bench
