#pragma once

// An object of Kubernetes as the rules of grouping read it: any kind, by the paths of its JSON. A view; the JSON stays
// with the caller and outlives it. Pure.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"

namespace basalt::pgsvc {

// One entry of metadata.ownerReferences.
struct OwnerReference {
  std::string_view api_version;
  std::string_view kind;
  std::string_view name;
  std::string_view uid;
  bool is_controller = false;
};

class ObjectView {
 public:
  ObjectView() = default;
  explicit ObjectView(const json::value& object) : object_(&object) {}
  // A part of an object, which has no name of its own: in messages it is called `where`, which outlives the view.
  ObjectView(const json::value& part, std::string_view where) : object_(&part), where_(where) {}

  bool empty() const { return object_ == nullptr; }
  // Requires: it is not empty.
  const json::value& json() const { return *object_; }
  std::string_view api_version() const;
  std::string_view group() const;    // Of apiVersion; empty: the core group.
  std::string_view version() const;  // Of apiVersion.
  std::string_view kind() const;
  std::string_view ns() const;
  std::string_view name() const;
  std::string_view uid() const;
  // In their order. An entry that is no object is left out.
  std::vector<OwnerReference> owners() const;
  bool IsBeingDeleted() const;

  // Null where the object has no such label or annotation.
  const json::string* Label(std::string_view key) const;
  const json::string* Annotation(std::string_view key) const;
  // Objects of texts; null where the object has none.
  const json::object* labels() const;
  const json::object* annotations() const;

  // Null where there is nothing, or where it is null.
  const json::value* At(std::initializer_list<std::string_view> path) const;
  // The text at the path; empty where there is none, or no text.
  std::string_view TextAt(std::initializer_list<std::string_view> path) const;
  // The 32-bit integer at the path; nullopt where there is nothing. INVALID_ARGUMENT, which names the path, where what
  // stands there is no integer of 32 bits.
  absl::StatusOr<std::optional<int32_t>> IntAt(std::initializer_list<std::string_view> path) const;

  // The same of a path that is known at run time only.
  absl::StatusOr<std::optional<int32_t>> IntAt(const std::vector<std::string>& path) const;

  // "Job default/j", for messages; of a part where it stands.
  std::string Described() const;

 private:
  const json::object* Texts(std::string_view member) const;

  const json::value* object_ = nullptr;
  std::string_view where_;
};

// The API group of an apiVersion; empty: the core group.
std::string_view GroupOfApiVersion(std::string_view api_version);

// A text member of an object of texts, as labels are one; null where there is none, or no text.
const json::string* TextOf(const json::object* texts, std::string_view key);

}  // namespace basalt::pgsvc
