#pragma once

// Manifests of pods and their owners for tests: files NAME.yaml, with their groups in NAME.group.yaml beside.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace basalt::pgsvc {

inline constexpr char kExamples[] = BASALT_SOURCE_DIR "/docs/pod-groups/";
inline constexpr char kShapes[] = BASALT_SOURCE_DIR "/services/pgsvc/testing/shapes/";

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Returns the manifests below the folder, by their path there without the suffix, sorted.
inline std::vector<std::string> ManifestsIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).string();
    if (name.ends_with(".yaml") && !name.ends_with(".group.yaml")) names.push_back(name.substr(0, name.size() - 5));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace basalt::pgsvc
