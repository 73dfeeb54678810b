#pragma once

// The namespaces that the suite serves, by the values of --namespaces. Pure.
#include <string>
#include <string_view>
#include <vector>

namespace basalt::kube {

inline constexpr std::string_view kKubeSystem = "kube-system";

class NamespaceRules {
 public:
  // Serves all namespaces but kube-system.
  NamespaceRules() = default;
  // Serves the namespaces of `served`. If `served` is empty or contains "*", serves all but kube-system and `own`,
  // which are served only if `served` names them. `own` is the namespace of the suite itself. Empty if that is unknown,
  // or if others share the namespace.
  explicit NamespaceRules(std::vector<std::string> served, std::string own = "");

  // Returns why the namespace is not served. Empty if it is served.
  std::string WhyNot(std::string_view ns) const;

 private:
  std::vector<std::string> served_;
  std::string own_;
  bool has_all_ = true;
};

}  // namespace basalt::kube
