#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kubesim/schema/crd/crd.h"
#include "kubesim/schema/crd/schema_node.h"

namespace basalt::kubesim {
namespace {

std::string_view View(json::string_view text) { return {text.data(), text.size()}; }

bool IsIdentity(std::string_view name) { return name == "apiVersion" || name == "kind" || name == "metadata"; }

// Drops unspecified fields. Paths are built only if the caller wants the pruned fields.
class Pruner {
 public:
  explicit Pruner(std::vector<std::string>* pruned) : pruned_(pruned) {}

  void Prune(json::value& value, const SchemaNode& node, bool is_resource, const std::string& path) {
    if (json::array* array = value.if_array()) {
      if (node.items == nullptr) return;
      for (size_t i = 0; i < array->size(); ++i) {
        Prune((*array)[i], *node.items, node.items->embedded_resource,
              pruned_ == nullptr ? path : fmt::format("{}[{}]", path, i));
      }
      return;
    }
    json::object* object = value.if_object();
    if (object == nullptr) return;
    for (size_t i = 0; i < object->size();) {
      auto member = object->begin() + static_cast<ptrdiff_t>(i);
      const std::string_view name = View(member->key());
      if (is_resource && IsIdentity(name)) {
        // The server handles the root's metadata itself. Metadata of an embedded resource may have the same fields
        // only.
        if (node.embedded_resource && name == "metadata") PruneMetadata(member->value());
        ++i;
        continue;
      }
      const SchemaNode* child = nullptr;
      if (const auto found = node.properties.find(name); found != node.properties.end()) {
        child = found->second.get();
      } else if (node.additional != nullptr) {
        child = node.additional.get();
      } else if (!node.additional_allowed && !node.preserve_unknown) {
        if (pruned_ != nullptr) pruned_->push_back(Join(path, name));
        // Keep the order of the other members for people who read the object. erase() would swap in the last one.
        object->stable_erase(member);
        continue;
      }
      if (child != nullptr) {
        Prune(member->value(), *child, child->embedded_resource, pruned_ == nullptr ? path : Join(path, name));
      }
      ++i;
    }
  }

 private:
  static void PruneMetadata(json::value& metadata) {
    constexpr std::string_view kFields[] = {"name",
                                            "generateName",
                                            "namespace",
                                            "selfLink",
                                            "uid",
                                            "resourceVersion",
                                            "generation",
                                            "creationTimestamp",
                                            "deletionTimestamp",
                                            "labels",
                                            "annotations",
                                            "ownerReferences",
                                            "finalizers",
                                            "managedFields",
                                            "deletionGracePeriodSeconds"};
    json::object* object = metadata.if_object();
    if (object == nullptr) return;
    for (size_t i = object->size(); i-- > 0;) {
      const auto member = object->begin() + static_cast<ptrdiff_t>(i);
      if (std::find(std::begin(kFields), std::end(kFields), View(member->key())) == std::end(kFields)) {
        object->stable_erase(member);
      }
    }
  }

  static std::string Join(const std::string& path, std::string_view name) {
    return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
  }

  std::vector<std::string>* pruned_;
};

void DropNulls(json::object& object, const SchemaNode& node) {
  for (size_t i = 0; i < object.size();) {
    auto member = object.begin() + static_cast<ptrdiff_t>(i);
    if (member->value().is_null()) {
      const auto found = node.properties.find(View(member->key()));
      const SchemaNode* child = found != node.properties.end() ? found->second.get() : node.additional.get();
      if (child != nullptr && !child->nullable) {
        object.stable_erase(member);
        continue;
      }
    }
    ++i;
  }
}

void Default(json::value& value, const SchemaNode& node) {
  if (!node.defaults_below) return;
  if (json::array* array = value.if_array()) {
    if (node.items == nullptr) return;
    for (json::value& item : *array) Default(item, *node.items);
    return;
  }
  json::object* object = value.if_object();
  if (object == nullptr) return;
  DropNulls(*object, node);
  for (const auto& [name, child] : node.properties) {
    if (child->default_value && !object->contains(name)) object->emplace(name, *child->default_value);
    if (json::value* member = object->if_contains(name)) Default(*member, *child);
  }
  if (node.additional == nullptr) return;
  for (auto& member : *object) {
    if (!node.properties.contains(View(member.key()))) Default(member.value(), *node.additional);
  }
}

}  // namespace

void Schema::PruneAndDefault(json::value& object, std::vector<std::string>* pruned) const {
  Pruner(pruned).Prune(object, *root_, /*is_resource=*/true, "");
  Default(object, *root_);
}

}  // namespace basalt::kubesim
