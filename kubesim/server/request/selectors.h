#pragma once

// Label and field selectors as they stand in queries. Parsed once, then matched without allocation where possible.
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

// "metadata.name=a,status.phase!=Succeeded": only fields that the resource supports.
class FieldSelector {
 public:
  // 400 BadRequest: `field label not supported: spec.foo`.
  static absl::StatusOr<FieldSelector> Parse(std::string_view text, const TypeInfo& type);

  bool empty() const { return requirements_.empty(); }
  bool Matches(const json::value& object) const;
  // The value that metadata.name must have, else empty: a list or watch of one object.
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

// By the labels of the object's metadata.
bool MatchesLabels(const kube::LabelSelector& selector, const json::value& object);

struct Selector {
  kube::LabelSelector labels;
  FieldSelector fields;
  bool empty() const { return labels.empty() && fields.empty(); }
  bool Matches(const json::value& object) const { return MatchesLabels(labels, object) && fields.Matches(object); }
};

// What the query asks for.
absl::StatusOr<Selector> SelectorOf(const RequestInfo& info);

}  // namespace basalt::kubesim
