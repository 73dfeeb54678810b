#pragma once

// A label selector as it stands in a query or behind kubectl's -l. Parsed once, then matched without allocation. A
// value; no thread rule.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace basalt::kube {

// "a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1,m<2"
class LabelSelector {
 public:
  // INVALID_ARGUMENT in the API server's words: "unable to parse requirement: …".
  static absl::StatusOr<LabelSelector> Parse(std::string_view text);

  bool empty() const { return requirements_.empty(); }
  // Keys and values: what it takes to match one object.
  size_t terms() const;
  // The label's value; nullopt: there is none of that key.
  using Labels = absl::FunctionRef<std::optional<std::string_view>(std::string_view key)>;
  bool Matches(Labels labels) const;

 private:
  enum class Op : uint8_t { kIn, kNotIn, kExists, kNotExists, kGreater, kLess };
  struct Requirement {
    std::string key;
    Op op = Op::kExists;
    std::vector<std::string> values;
  };
  static absl::StatusOr<Requirement> ParseOne(std::string_view text);
  static absl::StatusOr<Requirement> Checked(Requirement requirement);

  std::vector<Requirement> requirements_;
};

// Splits at commas that stand outside parentheses, without the blanks around each part.
std::vector<std::string_view> SplitRequirements(std::string_view text);
std::string_view TrimBlanks(std::string_view text);

}  // namespace basalt::kube
