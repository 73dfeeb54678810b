#pragma once

// A label selector in the form of a query or of kubectl's -l. It is parsed once, then matched without allocation. A
// value type; no thread rule.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace basalt::kube {

// A selector such as "a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1,m<2".
class LabelSelector {
 public:
  // INVALID_ARGUMENT has the API server's message: "unable to parse requirement: …".
  static absl::StatusOr<LabelSelector> Parse(std::string_view text);

  bool empty() const { return requirements_.empty(); }
  // Returns the number of keys and values, which is the cost of matching one object.
  size_t terms() const;
  // Returns the value of a label. Nullopt if the object has no label with that key.
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

// Splits at commas outside of parentheses, and drops the blanks around each part.
std::vector<std::string_view> SplitRequirements(std::string_view text);
std::string_view TrimBlanks(std::string_view text);

}  // namespace basalt::kube
