#pragma once

// The key of an object among those of its kind: "<namespace>/<name>", or the name alone where there is no namespace.
// Routing keys (correctness 2) have this form. Pure.
#include <string>
#include <string_view>

namespace basalt::kube {

std::string ObjectKey(std::string_view ns, std::string_view name);

// By which queuesvc knows a queue of KAI's, and pod groups that name it: "kai/<name>".
std::string KaiQueueKey(std::string_view name);
bool IsKaiQueueKey(std::string_view key);

// Views into the key. What stands behind another slash (group_profile.h) is left out.
struct KeyParts {
  std::string_view ns;  // Empty: the key is a name alone.
  std::string_view name;
};
KeyParts SplitKey(std::string_view key);

}  // namespace basalt::kube
