#pragma once

// The facts about one served kind in one version. A plain value: built once (builtin.h for core kinds, crd.h for custom
// ones), then shared and never changed. No thread rule beyond that.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"

namespace basalt::kubesim {

class Schema;  // A compiled structural schema: kubesim/schema/crd.h.

// One column of a Table beside NAME. `json_path` is a path of members: ".status.phase". The cells of others are empty.
struct PrinterColumn {
  std::string name;
  std::string type;    // "string", "integer", "number", "boolean" or "date".
  std::string format;  // May be empty.
  std::string description;
  std::string json_path;
  int priority = 0;  // A column with priority 0 is always shown, one with priority 1 only in wide output.
};

struct ScalePaths {
  std::string spec_replicas = ".spec.replicas";
  std::string status_replicas = ".status.replicas";
  std::string label_selector;  // Empty if the kind has none.
};

// One cause of a 422 answer.
struct FieldError {
  std::string reason;  // The value of StatusCause.reason: "FieldValueInvalid", "FieldValueRequired", …
  std::string field;   // A path like "spec.tasks[0].replicas".
  // The text behind the field's name, like the API server's: "Invalid value: -1: should be greater than or equal to 0".
  std::string message;
};

// How a server-side apply merges a list.
enum class ListType { kAtomic, kSet, kMap };

struct TypeInfo {
  std::string group;  // Empty for the core group.
  std::string version;
  std::string kind;
  std::string list_kind;
  std::string plural;
  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  bool namespaced = true;
  // The kind has a /status subresource: main writes keep the old status, status writes keep everything else.
  bool has_status = false;
  bool has_generation = false;  // metadata.generation grows with every change outside metadata and status.
  bool has_scale = false;
  ScalePaths scale;
  std::vector<std::string> verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  bool builtin = true;  // False for kinds of a CustomResourceDefinition.
  bool storage = true;  // False for a served version that is converted from the stored one (by apiVersion alone).
  std::vector<PrinterColumn> columns;    // Set for custom kinds only; table.h has the columns of the core kinds.
  std::shared_ptr<const Schema> schema;  // Null for core kinds.

  // Returns a text like "batch.volcano.sh/v1alpha1", or "v1" in the core group.
  std::string ApiVersion() const { return group.empty() ? version : group + "/" + version; }
  // Returns a text like "jobs.batch.volcano.sh", or "pods" in the core group.
  std::string Resource() const { return group.empty() ? plural : plural + "." + group; }
  // Returns the form in "is invalid" messages: "Job.batch.volcano.sh", or "Pod" in the core group.
  std::string QualifiedKind() const { return group.empty() ? kind : kind + "." + group; }
};

using TypeInfoPtr = std::shared_ptr<const TypeInfo>;

}  // namespace basalt::kubesim
