#pragma once

// Converts YAML to and from the JSON DOM, as Kubernetes' tools read and print YAML. Pure functions, any thread;
// yaml-cpp stays behind this header.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"

namespace basalt {

enum class DoubledKeys {
  kRefuse,
  kLastCounts,  // The last value counts, as for kubectl.
};

// Returns every document of a stream, which may also be JSON values one behind the other. Documents without content (an
// empty text, comments, a lone "---") are left out. Plain scalars resolve by YAML 1.1 as kubectl resolves them:
// y/yes/on/true are true, 0x1f and 017 are numbers, "2026-01-01" stays text; quoted scalars are text. Keys become text.
// Anchors, aliases and "<<" are resolved, !!binary is decoded. RESOURCE_EXHAUSTED if the text is longer than
// `max_bytes`. INVALID_ARGUMENT names the document (from 1), line and column of a syntax error, a control character, a
// byte that is no UTF-8, a key that stands twice in one map, nesting below 100 levels, more than a million values,
// more than 3 MiB of text that anchors and aliases copy, .inf or .nan.
absl::StatusOr<std::vector<json::value>> ParseYamlDocuments(std::string_view text,
                                                            DoubledKeys doubled = DoubledKeys::kRefuse,
                                                            size_t max_bytes = 16 << 20);

// Returns block YAML with sorted keys like `kubectl -o yaml`, with a line break at the end. Text that would be read
// back as another type is quoted. Text of several lines is a literal block.
std::string ToYaml(const json::value& value);

}  // namespace basalt
