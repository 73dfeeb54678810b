#include "common/rpc/http_status.h"

#include <utility>

#include "common/base/json.h"

namespace basalt::rpc {
namespace {

http::Response Text(int status, std::string body) {
  return {.status = status, .headers = {{"Content-Type", "text/plain"}}, .body = std::move(body)};
}

http::Response NoToken() {
  http::Response page = Text(401, "/metrics asks for the token of --metrics_token_file: Authorization: Bearer TOKEN\n");
  page.headers.emplace_back("WWW-Authenticate", "Bearer");
  return page;
}

http::Response Json(int status, const json::object& body) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = ToText(body) + "\n"};
}

http::Response Ready(const obs::Health& health) {
  bool ready = true;
  json::array targets;
  for (const obs::Health::Target& target : health.Targets()) {
    ready = ready && target.ready;
    json::object& entry = targets.emplace_back(json::object()).as_object();
    entry["name"] = target.name;
    entry["ready"] = target.ready;
    entry["state"] = target.state;
    if (target.since != absl::InfinitePast()) {
      entry["since"] = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", target.since, absl::UTCTimeZone());
    }
    if (!target.why.empty()) entry["why"] = target.why;
    if (!target.cure.empty()) entry["cure"] = target.cure;
  }
  return Json(ready ? 200 : 503, {{"ready", ready}, {"targets", std::move(targets)}});
}

}  // namespace

absl::StatusOr<std::unique_ptr<http::PageServer>> StartHttpStatus(Loop& loop, const obs::Metrics& metrics,
                                                                  const obs::Health& health,
                                                                  HttpStatusOptions options) {
  const auto page = [&loop, &metrics, &health, process = options.process, version = options.version,
                     token = options.metrics_token](const http::PageRequest& request) -> http::Response {
    const std::string& path = request.path;
    if (path == "/metrics") {
      if (token != nullptr && !token->IsIn(request.authorization, loop.Now())) return NoToken();
      return {.status = 200,
              .headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
              .body = metrics.Text()};
    }
    if (path == "/healthz") return Text(200, "ok\n");
    if (path == "/readyz") return Ready(health);
    if (path == "/version") return Json(200, {{"process", process}, {"version", version}});
    return Text(404, "/metrics /healthz /readyz /version\n");
  };
  return http::StartPageServer(loop, page, options.server);
}

}  // namespace basalt::rpc
