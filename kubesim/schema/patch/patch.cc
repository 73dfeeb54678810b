#include "kubesim/schema/patch/patch.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::kubesim {
namespace {

absl::Status Malformed(std::string_view what) { return Invalid(fmt::format("invalid JSON patch: {}", what)); }
absl::Status Unfit(std::string_view what) { return MakeStatus(absl::StatusCode::kFailedPrecondition, what); }

void Merge(json::value& target, const json::value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = json::object();
  json::object& members = target.get_object();
  for (const auto& member : patch.get_object()) {
    if (member.value().is_null()) {
      members.erase(member.key());
    } else {
      Merge(members[member.key()], member.value());
    }
  }
}

absl::StatusOr<std::vector<std::string>> ParsePointer(std::string_view text) {
  std::vector<std::string> tokens;
  if (text.empty()) return tokens;
  if (text.front() != '/') return Malformed(fmt::format("path '{}' does not start with '/'", text));
  for (size_t at = 1; at <= text.size();) {
    const size_t end = std::min(text.find('/', at), text.size());
    std::string token;
    for (size_t i = at; i < end; ++i) {
      if (text[i] != '~') {
        token += text[i];
        continue;
      }
      const char escaped = i + 1 < end ? text[i + 1] : '\0';
      if (escaped != '0' && escaped != '1') return Malformed(fmt::format("path '{}' has a stray '~'", text));
      token += escaped == '0' ? '~' : '/';
      ++i;
    }
    tokens.push_back(std::move(token));
    at = end + 1;
  }
  return tokens;
}

std::optional<size_t> ParseIndex(std::string_view token) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (token.empty() || error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  if (token.size() > 1 && token[0] == '0') return std::nullopt;
  return index;
}

json::value* Child(json::value& value, const std::string& token) {
  if (json::object* object = value.if_object()) return object->if_contains(token);
  if (json::array* array = value.if_array()) {
    const std::optional<size_t> index = ParseIndex(token);
    if (index && *index < array->size()) return &(*array)[*index];
  }
  return nullptr;
}

json::value* Resolve(json::value& root, const std::vector<std::string>& tokens, size_t count) {
  json::value* at = &root;
  for (size_t i = 0; i < count && at != nullptr; ++i) at = Child(*at, tokens[i]);
  return at;
}

absl::Status Missing(std::string_view operation, std::string_view path) {
  return Unfit(fmt::format("{} operation does not apply: doc is missing path: \"{}\": missing value", operation, path));
}

absl::Status Add(json::value& root, const std::vector<std::string>& path, std::string_view text, json::value value) {
  if (path.empty()) {
    root = std::move(value);
    return absl::OkStatus();
  }
  json::value* parent = Resolve(root, path, path.size() - 1);
  if (parent == nullptr || !parent->is_structured()) return Missing("add", text);
  if (json::object* object = parent->if_object()) {
    object->insert_or_assign(path.back(), std::move(value));
    return absl::OkStatus();
  }
  json::array& array = parent->get_array();
  const std::optional<size_t> index = path.back() == "-" ? array.size() : ParseIndex(path.back());
  if (!index || *index > array.size()) {
    return Unfit(fmt::format("add operation does not apply: '{}' is no index into a list of {}", text, array.size()));
  }
  array.insert(array.begin() + static_cast<ptrdiff_t>(*index), std::move(value));
  return absl::OkStatus();
}

absl::Status Remove(json::value& root, const std::vector<std::string>& path, std::string_view text) {
  if (path.empty()) return Unfit("remove operation does not apply: the whole document cannot be removed");
  json::value* parent = Resolve(root, path, path.size() - 1);
  if (parent == nullptr || Child(*parent, path.back()) == nullptr) return Missing("remove", text);
  if (json::object* object = parent->if_object()) {
    object->erase(path.back());
  } else {
    json::array& array = parent->get_array();
    array.erase(array.begin() + static_cast<ptrdiff_t>(*ParseIndex(path.back())));
  }
  return absl::OkStatus();
}

absl::Status ApplyOperation(json::value& root, const json::value& step) {
  if (!step.is_object()) return Malformed("an operation must be an object");
  const std::string_view operation = FindString(step, "op");
  const json::value* path_value = Find(step, "path");
  if (path_value == nullptr || !path_value->is_string()) return Malformed("an operation lacks its path");
  const std::string_view text = FindString(step, "path");
  BASALT_ASSIGN_OR_RETURN(const std::vector<std::string> path, ParsePointer(text));

  if (operation == "remove") return Remove(root, path, text);
  if (operation == "move" || operation == "copy") {
    const std::string_view from_text = FindString(step, "from");
    BASALT_ASSIGN_OR_RETURN(const std::vector<std::string> from, ParsePointer(from_text));
    json::value* source = Resolve(root, from, from.size());
    json::value* parent = from.empty() ? nullptr : Resolve(root, from, from.size() - 1);
    // Go's library copies an absent member as null.
    const bool absent = source == nullptr && operation == "copy" && parent != nullptr && parent->is_object();
    if (source == nullptr && !absent) return Missing(operation, from_text);
    json::value moved = absent ? json::value() : *source;
    if (operation == "move") {
      if (text.size() > from_text.size() && text.substr(0, from_text.size()) == from_text &&
          text[from_text.size()] == '/') {
        return Malformed("a value cannot be moved into itself");
      }
      BASALT_RETURN_IF_ERROR(Remove(root, from, from_text));
    }
    return Add(root, path, text, std::move(moved));
  }
  const json::value* value = Find(step, "value");
  if (operation != "add" && operation != "replace" && operation != "test") {
    return Malformed(fmt::format("unexpected op '{}'", operation));
  }
  if (value == nullptr) return Malformed(fmt::format("'{}' lacks its value", operation));
  if (operation == "add") return Add(root, path, text, *value);

  json::value* target = Resolve(root, path, path.size());
  if (operation == "test") {
    // Go's library treats an absent member as null.
    const bool equal = target == nullptr ? value->is_null() : *target == *value;
    if (equal) return absl::OkStatus();
    return Unfit(fmt::format("testing value {} failed: test failed", text));
  }
  if (target == nullptr) {
    // Go's library lets "replace" add a missing member to an existing object.
    json::value* parent = path.empty() ? nullptr : Resolve(root, path, path.size() - 1);
    if (parent == nullptr || !parent->is_object()) return Missing("replace", text);
    return Add(root, path, text, *value);
  }
  *target = *value;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<json::value> ApplyMergePatch(const json::value& target, const json::value& patch) {
  if (!patch.is_object()) return Invalid("a merge patch must be an object");
  json::value result = target;
  Merge(result, patch);
  return result;
}

absl::StatusOr<json::value> ApplyJsonPatch(const json::value& target, const json::value& patch) {
  const json::array* steps = patch.if_array();
  if (steps == nullptr) return Malformed("it must be a list of operations");
  constexpr size_t kMaxOperations = 10'000;
  if (steps->size() > kMaxOperations) return Malformed("more than 10000 operations");
  json::value result = target;
  for (const json::value& step : *steps) BASALT_RETURN_IF_ERROR(ApplyOperation(result, step));
  return result;
}

}  // namespace basalt::kubesim
