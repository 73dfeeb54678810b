#pragma once

// The write path: create, update and patch of objects and their status, with the API server's checks of versions and
// metadata. Every part of the server stores objects through this class.
#include <functional>
#include <string_view>

#include "absl/status/statusor.h"
#include "kubesim/server/admission/references.h"
#include "kubesim/server/request/request_info.h"
#include "kubesim/server/state/core.h"

namespace basalt::kubesim {

class ObjectWriter {
 public:
  explicit ObjectWriter(Core& core) : core_(core), references_(core) {}

  absl::StatusOr<Answer> Create(const RequestInfo& info, json::value body);
  absl::StatusOr<Answer> Update(const RequestInfo& info, json::value body);
  // Applies a patch. `body` has the patch format that info.content_type names.
  absl::StatusOr<Answer> Patch(const RequestInfo& info, std::string_view body);

  // Changes a stored object in the server's own name, without validation and managed fields. An unchanged object is not
  // written. An object that is being deleted and has nothing left to wait for is removed; then its last state is
  // returned. NotFound if the object does not exist.
  absl::StatusOr<RevisionPtr> Mutate(const TypeInfo& type, const ObjectKey& key,
                                     const std::function<void(json::value&)>& change);

 private:
  struct Write {
    const TypeInfo& type;
    ObjectKey key;
    std::string subresource;
    std::string manager;
    bool dry_run = false;
    size_t bytes = 0;      // Size of the request's body, by which the object may grow.
    bool applied = false;  // The managed fields are up to date already.
  };
  absl::StatusOr<Answer> Apply(const RequestInfo& info, const RevisionPtr& live, std::string_view body);
  absl::StatusOr<Answer> CreateObject(const Write& write, json::value object);
  absl::StatusOr<Answer> UpdateObject(const Write& write, const RevisionPtr& live, json::value next);
  absl::StatusOr<RevisionPtr> Commit(const Write& write, const RevisionPtr& live, json::value next);
  absl::Status CheckNamespace(const TypeInfo& type, std::string_view ns, std::string_view name) const;
  absl::StatusOr<std::string> GenerateName(const TypeInfo& type, std::string_view ns, std::string_view prefix);

  Core& core_;
  References references_;
};

// Parses the body of a request as an object: JSON, or YAML if the content type states it. 400 if the body is no object.
absl::StatusOr<json::value> ParseBody(std::string_view content_type, std::string_view body);
// Checks apiVersion, kind, name and namespace of `body` against the request, and sets those that are missing.
absl::Status CheckEnvelope(const RequestInfo& info, json::value& body);

}  // namespace basalt::kubesim
