#pragma once

// The representations of objects for a client: whole, metadata only, or as a Table. Encodes objects, lists and watch
// events. Pure, but for the texts that revisions cache.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"
#include "kubesim/server/state/store.h"

namespace basalt::kubesim {

enum class View { kObject, kPartial, kTable };

struct Representation {
  View view = View::kObject;
  bool partial_list = false;                // With kPartial: the client requests a list.
  std::string version = "v1";               // The version of meta.k8s.io, with kPartial and kTable.
  std::string include_object = "Metadata";  // With kTable.
};

// Sets the representation to the first media type of an Accept header that can be served. Returns false if none can be
// (406).
bool ChooseRepresentation(std::string_view accept, Representation* out);

// Returns the object as one of `type`: its apiVersion is set if the stored one differs.
json::value AsVersion(const TypeInfo& type, const json::value& object);

std::string EncodeObject(const TypeInfo& type, const RevisionPtr& revision, const Representation& how, absl::Time now);
// Encodes an object that was never stored (a dry run).
std::string EncodeUnstored(const TypeInfo& type, const json::value& object, const Representation& how, absl::Time now);

struct ListMetadata {
  int64_t version = 0;
  std::string continue_token;
  int64_t remaining = -1;  // The number of remaining objects. Left out of the answer if negative.
};
// Encodes a list and passes the text to `out` in pieces of limited size.
void EncodeList(const TypeInfo& type, const std::vector<RevisionPtr>& items, const ListMetadata& metadata,
                const Representation& how, absl::Time now, const std::function<void(std::string_view)>& out);

// Appends one watch event with its line feed. `first` is true for the first Table of a watch, the only one with
// columns.
void AppendEvent(std::string& out, std::string_view event, const TypeInfo& type, const RevisionPtr& revision,
                 const Representation& how, bool first, absl::Time now);
void AppendBookmark(std::string& out, const TypeInfo& type, int64_t version, bool initial_end,
                    const Representation& how);
void AppendErrorEvent(std::string& out, const json::value& status);

}  // namespace basalt::kubesim
