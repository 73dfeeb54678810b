#include "common/rpc/http_status.h"

#include <utility>

#include "common/base/json.h"
#include "common/base/status_macros.h"
#include "common/http/server/beast_server.h"

namespace basalt::rpc {
namespace {

class Status final : public HttpStatus, public http::Handler {
 public:
  Status(const obs::Metrics& metrics, const obs::Health& health, HttpStatusOptions options)
      : metrics_(metrics), health_(health), options_(std::move(options)) {}

  absl::Status Listen(Loop& loop) {
    BASALT_ASSIGN_OR_RETURN(server_,
                            http::StartServer(loop, *this, {.address = options_.address, .port = options_.port}));
    return absl::OkStatus();
  }

  uint16_t port() const override { return server_->port(); }

  void Handle(const http::Request& request, std::shared_ptr<http::ResponseWriter> writer) override {
    const std::string_view path = std::string_view(request.target).substr(0, request.target.find('?'));
    if (request.method != "GET" && request.method != "HEAD") {
      return writer->Whole(405, {{"Content-Type", "text/plain"}, {"Allow", "GET"}}, "only GET\n");
    }
    if (path == "/metrics") {
      return writer->Whole(200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, metrics_.Text());
    }
    if (path == "/healthz") return writer->Whole(200, {{"Content-Type", "text/plain"}}, "ok\n");
    if (path == "/readyz") return Ready(*writer);
    if (path == "/version") {
      return Json(*writer, 200, {{"process", options_.process}, {"version", options_.version}});
    }
    writer->Whole(404, {{"Content-Type", "text/plain"}}, "/metrics /healthz /readyz /version\n");
  }

 private:
  static void Json(http::ResponseWriter& writer, int status, const json::object& body) {
    writer.Whole(status, {{"Content-Type", "application/json"}}, ToText(body) + "\n");
  }

  void Ready(http::ResponseWriter& writer) {
    bool ready = true;
    json::array targets;
    for (const obs::Health::Target& target : health_.Targets()) {
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
    Json(writer, ready ? 200 : 503, {{"ready", ready}, {"targets", std::move(targets)}});
  }

  const obs::Metrics& metrics_;
  const obs::Health& health_;
  const HttpStatusOptions options_;
  std::unique_ptr<http::Server> server_;  // Last: it calls Handle.
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpStatus>> StartHttpStatus(Loop& loop, const obs::Metrics& metrics,
                                                            const obs::Health& health, HttpStatusOptions options) {
  auto status = std::make_unique<Status>(metrics, health, std::move(options));
  BASALT_RETURN_IF_ERROR(status->Listen(loop));
  return std::unique_ptr<HttpStatus>(std::move(status));
}

}  // namespace basalt::rpc
