#pragma once

// An object of Kubernetes as rules of grouping read it: of any kind, by the paths of its JSON. A view: the caller keeps
// the JSON, which outlives it. Pure.
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
  // A part of an object that has no name of its own. Messages call the part `where`, which outlives the view.
  ObjectView(const json::value& part, std::string_view where) : object_(&part), where_(where) {}

  bool empty() const { return object_ == nullptr; }
  // Requires: the view is not empty.
  const json::value& json() const { return *object_; }
  std::string_view api_version() const;
  std::string_view group() const;    // The group in apiVersion; empty for the core group.
  std::string_view version() const;  // The version in apiVersion.
  std::string_view kind() const;
  std::string_view ns() const;
  std::string_view name() const;
  std::string_view uid() const;
  // Returns the references in their order, without entries that are not objects.
  std::vector<OwnerReference> owners() const;
  bool IsBeingDeleted() const;

  // Returns null if the object has no such label or annotation.
  const json::string* Label(std::string_view key) const;
  const json::string* Annotation(std::string_view key) const;
  // Returns the object of texts; null if there is none.
  const json::object* labels() const;
  const json::object* annotations() const;

  // Returns the value at the path; null if there is none, or if it is JSON's null.
  const json::value* At(std::initializer_list<std::string_view> path) const;
  // Returns the text at the path; empty if there is none, or if the value is not a text.
  std::string_view TextAt(std::initializer_list<std::string_view> path) const;
  // Returns the 32-bit integer at the path; nullopt if there is no value. INVALID_ARGUMENT names the path if the value
  // is not such an integer.
  absl::StatusOr<std::optional<int32_t>> IntAt(std::initializer_list<std::string_view> path) const;

  // Does the same for a path that is known only at run time.
  absl::StatusOr<std::optional<int32_t>> IntAt(const std::vector<std::string>& path) const;

  // Returns "Job default/j" for messages, or the place of a part.
  std::string Described() const;

 private:
  const json::object* Texts(std::string_view member) const;

  const json::value* object_ = nullptr;
  std::string_view where_;
};

// Returns the API group of an apiVersion; empty for the core group.
std::string_view GroupOfApiVersion(std::string_view api_version);

// Returns a text member of an object of texts, such as labels; null if there is none, or if it is not a text.
const json::string* TextOf(const json::object* texts, std::string_view key);

}  // namespace basalt::pgsvc
