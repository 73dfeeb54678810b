#pragma once

// Makes the core/v1 Event that reports something about an object to its users. The Event's name follows from the object
// and the report, so a repeated report, also after a restart, is the same Event. Pure functions, safe from any thread.
// Job spec 9.11.
#include <cstdint>
#include <string>
#include <string_view>

namespace basalt::kube {

// The namespace of Events about objects without a namespace.
inline constexpr std::string_view kClusterEventsNamespace = "default";

struct Event {
  // Identify the object that the Event is about. If the object has no namespace, the Event is in
  // kClusterEventsNamespace. Kind and component are constants of the program.
  std::string_view api_version, kind;
  std::string ns, name, uid;
  int64_t resource_version = 0;  // 0 if the Event does not state it.
  bool warning = false;
  std::string reason;
  std::string message;         // BodyOf cuts it to the API server's limit.
  std::string_view component;  // The reporter.
};

std::string_view NamespaceOf(const Event& event);
// Returns 16 hexadecimal digits that follow from uid, reason and the whole message.
std::string KeyOf(const Event& event);
// Returns "<object>.<key>". The object's name is shortened if the API server would refuse the whole.
std::string NameOf(const Event& event);
// Returns the JSON of an Event that happened once, at `now_ms` since the Unix epoch.
std::string BodyOf(const Event& event, int64_t now_ms);

}  // namespace basalt::kube
