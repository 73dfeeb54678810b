#pragma once

// The core/v1 Event that tells an object's users something, under a name that follows from whom and what it tells: one
// that is told again, also after a restart, is the same object. Pure functions, safe from any thread. Job spec 9.11.
#include <cstdint>
#include <string>
#include <string_view>

namespace basalt::kube {

// Where Events stand about objects of no namespace.
inline constexpr std::string_view kClusterEventsNamespace = "default";

struct Event {
  // Whom it tells; without a namespace its Events stand in kClusterEventsNamespace. Kind and component are constants of
  // the program.
  std::string_view api_version, kind;
  std::string ns, name, uid;
  int64_t resource_version = 0;  // 0: not told.
  bool warning = false;
  std::string reason;
  std::string message;         // What the API server would refuse as too long is cut off.
  std::string_view component;  // Who tells it.
};

std::string_view NamespaceOf(const Event& event);
// 16 hexadecimal digits from uid, reason and the whole message.
std::string KeyOf(const Event& event);
// "<object>.<key>": the object's name is shortened where the API server would refuse the whole.
std::string NameOf(const Event& event);
// As JSON, seen once, at `now_ms` since the Unix epoch.
std::string BodyOf(const Event& event, int64_t now_ms);

}  // namespace basalt::kube
