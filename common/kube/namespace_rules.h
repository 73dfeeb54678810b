#pragma once

// In which namespaces the suite does anything: the words of --namespaces. Pure.
#include <string>
#include <string_view>
#include <vector>

namespace basalt::kube {

inline constexpr std::string_view kKubeSystem = "kube-system";

class NamespaceRules {
 public:
  // All but kube-system.
  NamespaceRules() = default;
  // `served`: empty or "*": all but kube-system and `own`, which are served only where they are named. `own`: the
  // namespace of the suite itself; empty: it is not known, or everybody's.
  explicit NamespaceRules(std::vector<std::string> served, std::string own = "");

  // Why nothing is done there; empty: it is served.
  std::string WhyNot(std::string_view ns) const;

 private:
  std::vector<std::string> served_;
  std::string own_;
  bool has_all_ = true;
};

}  // namespace basalt::kube
