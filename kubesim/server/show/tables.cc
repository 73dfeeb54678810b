#include "kubesim/server/show/tables.h"

#include "kubesim/schema/table/table.h"

namespace basalt::kubesim {

json::value TableOf(const TypeInfo& type, const std::vector<const json::value*>& objects, const ListMetadata& metadata,
                    const Representation& how, bool columns, absl::Time now) {
  json::object meta = {{"resourceVersion", std::to_string(metadata.version)}};
  if (!metadata.continue_token.empty()) meta["continue"] = metadata.continue_token;
  if (metadata.remaining >= 0) meta["remainingItemCount"] = metadata.remaining;
  json::value table = MakeTable(type, objects, now, how.include_object, meta);
  if (how.version != "v1") table.as_object()["apiVersion"] = "meta.k8s.io/" + how.version;
  if (!columns) table.as_object()["columnDefinitions"] = nullptr;
  return table;
}

}  // namespace basalt::kubesim
