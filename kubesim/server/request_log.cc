#include "kubesim/server/request_log.h"

namespace basalt::kubesim {

json::value ToJson(const LoggedRequest& request) {
  json::array deleted;
  for (const DeletedObject& object : request.deleted) {
    deleted.push_back(json::object{{"name", object.name}, {"uid", object.uid}});
  }
  return json::object{{"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", request.time, absl::UTCTimeZone())},
                      {"verb", request.verb},
                      {"group", request.group},
                      {"resource", request.resource},
                      {"namespace", request.ns},
                      {"name", request.name},
                      {"subresource", request.subresource},
                      {"status", request.status},
                      {"uid", request.uid},
                      {"resourceVersion", std::to_string(request.resource_version)},
                      {"userAgent", request.user_agent},
                      {"body", request.body},
                      {"dryRun", request.dry_run},
                      {"droppedRequest", request.dropped_request},
                      {"droppedAnswer", request.dropped_answer},
                      {"labelSelector", request.label_selector},
                      {"deleted", std::move(deleted)}};
}

}  // namespace basalt::kubesim
