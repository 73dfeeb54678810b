#include "kubesim/schema/crd/rule_path.h"

#include <fmt/format.h>

namespace basalt::kubesim {
namespace {

// Reads a quoted key with its brackets off `path`.
std::optional<std::string> TakeKey(std::string_view& path) {
  if (!path.starts_with("['")) return std::nullopt;
  constexpr std::string_view kNames = "abfnrtv'\\";
  constexpr std::string_view kValues = "\a\b\f\n\r\t\v'\\";
  std::string key;
  for (size_t i = 2; i + 1 < path.size(); ++i) {
    if (path[i] == '\\') {
      const size_t at = kNames.find(path[++i]);
      if (at == std::string_view::npos) return std::nullopt;
      key += kValues[at];
    } else if (path[i] == '\'') {
      if (path[i + 1] != ']') return std::nullopt;
      path.remove_prefix(i + 2);
      return key;
    } else {
      key += path[i];
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> NormalFieldPath(std::string_view path, const SchemaNode& node) {
  std::string shown;
  const SchemaNode* at = &node;
  if (path.empty()) return std::nullopt;
  while (!path.empty()) {
    std::string name;
    if (path[0] == '.') {
      path.remove_prefix(1);
      const size_t end = std::min(path.find_first_of(".[]"), path.size());
      name = path.substr(0, end);
      path.remove_prefix(end);
    } else {
      std::optional<std::string> key = TakeKey(path);
      if (!key) return std::nullopt;
      name = *std::move(key);
    }
    if (!at->properties.empty()) {
      const auto found = at->properties.find(name);
      if (found == at->properties.end()) return std::nullopt;
      shown += (shown.empty() ? "" : ".") + name;
      at = found->second.get();
    } else if (at->additional != nullptr) {
      shown += fmt::format("[{}]", name);
      at = at->additional.get();
    } else {
      return std::nullopt;
    }
  }
  return shown;
}

}  // namespace basalt::kubesim
