// The paths that are not resources: discovery, version, health, and the log of requests.
#include <fmt/format.h>

#include <string>

#include "kubesim/server/api_server.h"
#include "kubesim/server/discovery/discovery.h"
#include "kubesim/server/discovery/openapi.h"
#include "kubesim/server/exchange.h"
#include "kubesim/server/request/errors.h"

namespace basalt::kubesim {

void ApiServer::HandleOther(Exchange& exchange) {
  const auto& segments = exchange.target.segments;
  const std::string first = segments.empty() ? "" : segments[0];
  if (first == "kubesim") {
    HandleControl(exchange);
    return;
  }
  if (exchange.request.method != "GET" && exchange.request.method != "HEAD") {
    Send(exchange, MethodNotAllowed("the server does not allow this method on the requested resource"));
    return;
  }
  if (first == "healthz" || first == "livez" || first == "readyz") {
    HandleHealth(exchange);
    return;
  }
  if (first == "version") {
    SendDocument(exchange, 200, VersionDocument());
    return;
  }
  if (first.empty()) {
    SendDocument(exchange, 200,
                 json::object{{"paths", json::array{"/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v2",
                                                    "/readyz", "/version"}}});
    return;
  }
  if (!HandleDiscovery(exchange) && !HandleOpenApi(exchange)) {
    Send(exchange, NoSuchPath(exchange.target, core_.types));
  }
}

// Answers the health checks. This server has no part that could fail.
void ApiServer::HandleHealth(Exchange& exchange) {
  const auto& segments = exchange.target.segments;
  if (segments.size() > 2 || (segments.size() == 2 && segments[1] != "ping" && segments[1] != "etcd")) {
    Send(exchange, NoSuchPage());
  } else if (segments.size() == 1 && exchange.target.HasQuery("verbose")) {
    SendText(exchange, 200, fmt::format("[+]ping ok\n[+]etcd ok\n{} check passed\n", segments[0]));
  } else {
    SendText(exchange, 200, "ok");
  }
}

bool ApiServer::HandleDiscovery(Exchange& exchange) {
  const auto& segments = exchange.target.segments;
  const bool core = segments[0] == "api";
  if (!core && segments[0] != "apis") return false;
  if (segments.size() == 1) {
    SendDocument(exchange, 200, core ? ApiVersionsDocument() : ApiGroupListDocument(core_.types));
    return true;
  }
  std::optional<json::value> document;
  if (core && segments.size() == 2) document = ApiResourceListDocument(core_.types, "", segments[1]);
  if (!core && segments.size() == 2) document = ApiGroupDocument(core_.types, segments[1]);
  if (!core && segments.size() == 3) document = ApiResourceListDocument(core_.types, segments[1], segments[2]);
  if (!document.has_value()) return false;
  SendDocument(exchange, 200, *document);
  return true;
}

bool ApiServer::HandleOpenApi(Exchange& exchange) {
  const auto& segments = exchange.target.segments;
  if (segments.size() != 2 || segments[0] != "openapi" || segments[1] != "v2") return false;
  exchange.writer->Whole(200, MakeHeaders(kOpenApiType), OpenApiDocument(core_.types.All()));
  return true;
}

void ApiServer::HandleControl(Exchange& exchange) {
  const std::string what = exchange.target.segments.size() > 1 ? exchange.target.segments[1] : "";
  const std::string& method = exchange.request.method;
  if (what == "log" && method == "GET") {
    json::array entries;
    for (const LoggedRequest& entry : log_.entries()) entries.push_back(ToJson(entry));
    SendDocument(exchange, 200, json::object{{"requests", std::move(entries)}});
    return;
  }
  if (what == "log" && method == "DELETE") {
    log_.Clear();
    SendDocument(exchange, 200, json::object());
    return;
  }
  Send(exchange, NoSuchResource());
}

}  // namespace basalt::kubesim
