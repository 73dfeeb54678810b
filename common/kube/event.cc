#include "common/kube/event.h"

#include <fmt/format.h>

#include "common/base/excerpt.h"
#include "common/base/json.h"
#include "common/kube/name_rules.h"
#include "common/kube/text.h"

namespace basalt::kube {
namespace {

constexpr size_t kMaxMessage = 1024;

// Continues FNV-1 in 64 bits.
uint64_t Fold(std::string_view text, uint64_t hash) {
  for (const unsigned char c : text) hash = (hash * 0x100000001b3) ^ c;
  return hash;
}

json::string Text(std::string_view text) { return json::string(text.data(), text.size()); }

}  // namespace

std::string_view NamespaceOf(const Event& event) {
  return event.ns.empty() ? kClusterEventsNamespace : std::string_view(event.ns);
}

std::string KeyOf(const Event& event) {
  constexpr uint64_t kOffset = 0xcbf29ce484222325;
  return fmt::format("{:016x}", Fold(event.message, Fold(event.reason, Fold(event.uid, kOffset))));
}

std::string NameOf(const Event& event) {
  const std::string key = KeyOf(event);
  std::string_view name = std::string_view(event.name).substr(0, kMaxSubdomain - key.size() - 1);
  while (name.ends_with('.') || name.ends_with('-')) name.remove_suffix(1);
  return fmt::format("{}.{}", name, key);
}

std::string BodyOf(const Event& event, int64_t now_ms) {
  json::object involved{{"apiVersion", Text(event.api_version)},
                        {"kind", Text(event.kind)},
                        {"name", Text(event.name)},
                        {"uid", Text(event.uid)}};
  if (!event.ns.empty()) involved["namespace"] = Text(event.ns);
  if (event.resource_version > 0) involved["resourceVersion"] = std::to_string(event.resource_version);
  const std::string now = FormatTime(now_ms);
  return ToText(json::object{{"apiVersion", "v1"},
                             {"kind", "Event"},
                             {"metadata", {{"namespace", Text(NamespaceOf(event))}, {"name", NameOf(event)}}},
                             {"involvedObject", std::move(involved)},
                             {"reason", Text(event.reason)},
                             {"message", Text(CutUtf8(event.message, kMaxMessage))},
                             {"type", event.warning ? "Warning" : "Normal"},
                             {"source", {{"component", Text(event.component)}}},
                             {"firstTimestamp", now},
                             {"lastTimestamp", now},
                             {"count", 1}});
}

}  // namespace basalt::kube
