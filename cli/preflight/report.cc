#include "cli/preflight/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/excerpt.h"
#include "common/base/json.h"
#include "common/base/yaml.h"

namespace basalt::cli {
namespace {

std::string_view NameOf(Result result) {
  switch (result) {
    case Result::kOk:
      return "ok";
    case Result::kWarning:
      return "warning";
    case Result::kProblem:
      return "problem";
    case Result::kUnchecked:
      return "unchecked";
  }
  return "";
}

size_t Count(const Findings& findings, Result result) {
  return static_cast<size_t>(std::count_if(findings.begin(), findings.end(),
                                           [&](const Finding& finding) { return finding.result == result; }));
}

std::string Verdict(const Findings& findings) {
  const size_t problems = Count(findings, Result::kProblem);
  const size_t warnings = Count(findings, Result::kWarning);
  const size_t unchecked = Count(findings, Result::kUnchecked);
  std::string text = problems > 0    ? fmt::format("{} to be cured before Basalt is started", problems)
                     : unchecked > 0 ? "No problem was seen"
                                     : "Nothing is in the way";
  if (warnings > 0) text += fmt::format(", {} warning{}", warnings, warnings == 1 ? "" : "s");
  if (unchecked > 0) text += fmt::format(", {} not checked", unchecked);
  return text + ".";
}

}  // namespace

int ExitCodeOf(const Findings& findings) {
  if (Count(findings, Result::kProblem) > 0) return 1;
  return Count(findings, Result::kUnchecked) > 0 ? 2 : 0;
}

std::string FormatFindings(const Findings& findings, std::string_view format) {
  if (!format.empty()) {
    json::array checks;
    for (const Finding& finding : findings) {
      json::object line{{"check", finding.check}, {"result", json::string(NameOf(finding.result))}};
      line["what"] = finding.what;
      if (!finding.cure.empty()) line["cure"] = finding.cure;
      checks.push_back(std::move(line));
    }
    const json::value all = json::object{{"checks", std::move(checks)},
                                         {"problems", Count(findings, Result::kProblem)},
                                         {"warnings", Count(findings, Result::kWarning)},
                                         {"unchecked", Count(findings, Result::kUnchecked)}};
    return format == "json" ? PrintableJson(ToText(all)) + "\n" : ToYaml(all);
  }
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<10} {}: {}\n", NameOf(finding.result), Printable(finding.check), Printable(finding.what));
    if (!finding.cure.empty()) text += fmt::format("{:<10} -> {}\n", "", Printable(finding.cure));
  }
  return text + Verdict(findings) + "\n";
}

}  // namespace basalt::cli
