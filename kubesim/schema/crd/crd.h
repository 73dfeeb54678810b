#pragma once

// Custom resource definitions: reading one, and pruning, defaulting and validating objects by its structural schema.
// A schema is compiled once (patterns included) and is immutable: any thread may use it.
//
// The rules of x-kubernetes-validations stay in the definition, but are neither read nor evaluated.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

struct SchemaNode;

class Schema {
 public:
  // Compiles an openAPIV3Schema. INVALID_ARGUMENT names the place that is not structural, or the pattern that is no
  // RE2.
  static absl::StatusOr<std::shared_ptr<const Schema>> Compile(const json::value& source);
  ~Schema();

  // Drops fields that the schema does not specify, and adds their paths to `pruned` unless that is null. Drops nulls
  // that may not be null, and sets defaults. apiVersion, kind and metadata of the root and of embedded resources always
  // stay.
  void PruneAndDefault(json::value& object, std::vector<std::string>* pruned = nullptr) const;
  // Appends one error per violation. `old` is the object that an update replaces, or null. An unchanged part has no
  // errors, unless it is an item of a plain list, whose old item cannot be identified.
  void Validate(const json::value& object, std::vector<FieldError>* errors, const json::value* old = nullptr) const;

  const SchemaNode& root() const { return *root_; }

 private:
  explicit Schema(std::unique_ptr<SchemaNode> root);

  std::unique_ptr<SchemaNode> root_;
};

// Prunes, defaults and validates an object, as on a write to a custom resource. INVALID_ARGUMENT if there was an error,
// which is added to `errors`.
absl::Status ValidateAndDefault(const Schema& schema, json::value& object, std::vector<FieldError>* errors,
                                std::vector<std::string>* pruned = nullptr, const json::value* old = nullptr);

struct CustomResource {
  std::string name;  // "<plural>.<group>".
  std::string group;
  std::string storage_version;
  std::vector<TypeInfoPtr> versions;  // The served versions, in the order of the definition.
};

// Sets fields that a definition may leave out: singular, listKind, conversion strategy.
void DefaultCrd(json::value& crd);

// Reads a definition. INVALID_ARGUMENT names the first invalid field.
absl::StatusOr<CustomResource> LoadCrd(const json::value& crd);

// Returns the status of an accepted definition: acceptedNames, storedVersions, NamesAccepted and Established.
json::value MakeCrdStatus(const json::value& crd, std::string_view now_rfc3339);

}  // namespace basalt::kubesim
