#pragma once

// The key of an object among those of its kind: "<namespace>/<name>", or the name alone if the object has no namespace.
// Routing keys (correctness 2) have this form. Pure.
#include <string>
#include <string_view>

namespace basalt::kube {

std::string ObjectKey(std::string_view ns, std::string_view name);

// Returns queuesvc's key of a queue of KAI and of the pod groups that name the queue: "kai/<name>".
std::string KaiQueueKey(std::string_view name);
bool IsKaiQueueKey(std::string_view key);

// The parts are views into the key. A part behind a second slash (group_profile.h) is left out.
struct KeyParts {
  std::string_view ns;  // Empty if the key is a name alone.
  std::string_view name;
};
KeyParts SplitKey(std::string_view key);

}  // namespace basalt::kube
