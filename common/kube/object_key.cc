#include "common/kube/object_key.h"

namespace basalt::kube {
namespace {

constexpr std::string_view kKaiQueues = "kai";

}  // namespace

std::string ObjectKey(std::string_view ns, std::string_view name) {
  std::string key;
  key.reserve(ns.size() + name.size() + 1);
  if (!ns.empty()) key.append(ns).push_back('/');
  key.append(name);
  return key;
}

std::string KaiQueueKey(std::string_view name) { return ObjectKey(kKaiQueues, name); }

bool IsKaiQueueKey(std::string_view key) { return SplitKey(key).ns == kKaiQueues; }

KeyParts SplitKey(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {{}, key};
  const std::string_view name = key.substr(slash + 1);
  return {key.substr(0, slash), name.substr(0, name.find('/'))};
}

}  // namespace basalt::kube
