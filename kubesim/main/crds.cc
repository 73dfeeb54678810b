#include "kubesim/main/crds.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "common/base/status.h"
#include "common/base/yaml.h"

namespace basalt::kubesim {
namespace fs = std::filesystem;

absl::StatusOr<std::vector<json::value>> LoadCrds(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.emplace_back(path);
      continue;
    }
    std::vector<fs::path> inside;
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      const std::string extension = at->path().extension();
      if (extension == ".yaml" || extension == ".yml" || extension == ".json") inside.push_back(at->path());
    }
    if (error) {
      return MakeStatus(absl::StatusCode::kNotFound, fmt::format("cannot read folder '{}': {}", path, error.message()));
    }
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  std::vector<json::value> crds;
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return MakeStatus(absl::StatusCode::kNotFound, fmt::format("cannot read '{}'", file.string()));
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    absl::StatusOr<std::vector<json::value>> documents = ParseYamlDocuments(text);
    if (!documents.ok()) return Annotate(documents.status(), file.string());
    for (json::value& document : *documents) {
      if (FindString(document, "kind") == "CustomResourceDefinition") crds.push_back(std::move(document));
    }
  }
  return crds;
}

}  // namespace basalt::kubesim
