#include "common/kube/namespace_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "common/base/excerpt.h"

namespace basalt::kube {

NamespaceRules::NamespaceRules(std::vector<std::string> served, std::string own)
    : served_(std::move(served)), own_(std::move(own)) {
  std::erase(served_, "");
  has_all_ = served_.empty() || std::erase(served_, "*") > 0;
}

std::string NamespaceRules::WhyNot(std::string_view ns) const {
  if (std::find(served_.begin(), served_.end(), ns) != served_.end()) return {};
  const std::string name(CutUtf8(ns, 63));
  if (ns == kKubeSystem || (!own_.empty() && ns == own_)) {
    return fmt::format("namespace '{}' is served only where --namespaces names it", name);
  }
  if (has_all_) return {};
  return fmt::format("namespace '{}' is none of --namespaces ({})", name, fmt::join(served_, ", "));
}

}  // namespace basalt::kube
