#pragma once

#include <memory>
#include <optional>

#include "common/http/http.h"
#include "common/http/target.h"
#include "kubesim/server/api_server.h"
#include "kubesim/server/request/request_info.h"

namespace basalt::kubesim {

// One request and the state of its handling.
struct ApiServer::Exchange {
  http::Request request;
  std::shared_ptr<http::ResponseWriter> writer;
  http::Target target;
  std::optional<RequestInfo> info;  // Set for resource requests.
  // The next five members are the verdict of the fault rules.
  bool drop_answer = false;
  bool dropped_request = false;
  int injected_code = 0;
  int retry_after_seconds = 0;
  bool injected_by_admission = false;
  std::unique_ptr<CollectionDeletion> deletion;  // Null unless a collection is being deleted.
};

}  // namespace basalt::kubesim
