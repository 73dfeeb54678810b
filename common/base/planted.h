#pragma once

// Bugs planted on purpose: a test compiles the sources that contain them a second time with BASALT_PLANT_BUGS, sets one
// bug, and demands that the simulation finds it. In every other target BASALT_PLANTED(name) is the constant false.
#ifdef BASALT_PLANT_BUGS

#include <string>
#include <string_view>

namespace basalt::planted {

// One at a time; not thread-safe: set before anything runs.
inline std::string& Current() {
  static std::string name;
  return name;
}
inline void Set(std::string_view name) { Current() = name; }
inline bool IsSet(std::string_view name) { return Current() == name; }

}  // namespace basalt::planted

#define BASALT_PLANTED(name) ::basalt::planted::IsSet(name)
#else
#define BASALT_PLANTED(name) false
#endif
