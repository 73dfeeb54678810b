#include "kubesim/server/state/core.h"

#include <algorithm>

namespace basalt::kubesim {
namespace {

const json::array* Finalizers(const json::value& object) {
  const json::value* found = FindPath(object, {"metadata", "finalizers"});
  return found == nullptr ? nullptr : found->if_array();
}

json::string_view Text(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

bool HasFinalizer(const json::value& object, std::string_view name) {
  const json::array* list = Finalizers(object);
  if (list == nullptr) return false;
  return std::any_of(list->begin(), list->end(),
                     [&](const json::value& one) { return one.is_string() && one.get_string() == Text(name); });
}

bool HasAnyFinalizer(const json::value& object) {
  const json::array* list = Finalizers(object);
  return list != nullptr && !list->empty();
}

void AddFinalizer(json::value& object, std::string_view name) {
  if (HasFinalizer(object, name)) return;
  json::value& list = MetaOf(object)["finalizers"];
  if (!list.is_array()) list = json::array();
  list.get_array().emplace_back(Text(name));
}

void RemoveFinalizer(json::value& object, std::string_view name) {
  if (!HasFinalizer(object, name)) return;
  json::array kept;
  for (const json::value& one : *Finalizers(object)) {
    if (!one.is_string() || one.get_string() != Text(name)) kept.push_back(one);
  }
  json::object& metadata = MetaOf(object);
  if (kept.empty()) {
    metadata.erase("finalizers");
  } else {
    metadata["finalizers"] = std::move(kept);
  }
}

}  // namespace basalt::kubesim
