#pragma once

// Label and field selectors of queries. They are parsed once, and then matched without allocation where possible.
// Values; no thread rule.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "common/kube/label_selector.h"
#include "kubesim/schema/core/type_info.h"
#include "kubesim/server/request/request_info.h"

namespace basalt::kubesim {

// A field selector like "metadata.name=a,status.phase!=Succeeded", with fields that the resource supports.
class FieldSelector {
 public:
  // Parses a selector. An unsupported field is a 400: `field label not supported: spec.foo`.
  static absl::StatusOr<FieldSelector> Parse(std::string_view text, const TypeInfo& type);

  bool empty() const { return requirements_.empty(); }
  bool Matches(const json::value& object) const;
  // Returns the value that metadata.name must have, for lists and watches of one object. Empty if any name matches.
  std::string_view RequiredName() const;
  void RequireName(std::string_view name) { requirements_.push_back({"metadata.name", std::string(name), true}); }

 private:
  struct Requirement {
    std::string field;
    std::string value;
    bool equal = true;
  };
  std::vector<Requirement> requirements_;
};

// Matches a selector with the labels of the object's metadata.
bool MatchesLabels(const kube::LabelSelector& selector, const json::value& object);

struct Selector {
  kube::LabelSelector labels;
  FieldSelector fields;
  bool empty() const { return labels.empty() && fields.empty(); }
  bool Matches(const json::value& object) const { return MatchesLabels(labels, object) && fields.Matches(object); }
};

// Returns the selector in the query.
absl::StatusOr<Selector> SelectorOf(const RequestInfo& info);

}  // namespace basalt::kubesim
