#pragma once

// The part of JSONPath that printer columns use. Immutable after parsing, any thread.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"

namespace basalt::kubesim {

class JsonPath {
 public:
  // Parses a path of `.status.phase`, `['a/b']`, `\.` inside a name, `[0]`, `[-1]`, `[1:3]`, `[*]` and
  // `[?(@.type=="Ready")]`, with == != < <= > >= and a text, number or boolean. The path may be inside braces or begin
  // with `$`. INVALID_ARGUMENT for any other path, also one with recursive descent or a union.
  static absl::StatusOr<JsonPath> Parse(std::string_view text);

  // Returns the values that the path names, in document order. Empty if a member is missing. The pointers live as long
  // as `root`.
  std::vector<const json::value*> Find(const json::value& root) const;

 private:
  enum class Kind { kMember, kIndex, kSlice, kAll, kFilter };
  struct Step {
    Kind kind = Kind::kMember;
    std::string name;
    int64_t from = 0;  // With kIndex and kSlice. A negative index counts from the end.
    int64_t to = 0;
    bool open_end = false;
    std::vector<Step> left;  // With kFilter: the path behind "@".
    std::string operation;   // With kFilter. Empty if the filter tests only whether the member exists.
    json::value right;
  };

  static absl::Status ParseSteps(std::string_view& text, std::string_view stop, std::vector<Step>& steps);
  static absl::Status ParseBracket(std::string_view inside, std::vector<Step>& steps);
  static absl::Status ParseFilter(std::string_view inside, Step& step);
  static void Walk(const std::vector<Step>& steps, size_t at, const json::value& value,
                   std::vector<const json::value*>& out);
  static bool Passes(const Step& filter, const json::value& item);

  std::vector<Step> steps_;
};

}  // namespace basalt::kubesim
