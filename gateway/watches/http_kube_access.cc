#include "gateway/watches/http_kube_access.h"

#include <utility>

namespace basalt::gateway {

HttpKubeAccess::HttpKubeAccess(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics,
                               Readiness& readiness, const WriterOptions& options, absl::Duration slow_retry)
    : readiness_(readiness),
      clock_(loop),
      writer_(loop, client, random, options, &clock_),
      objects_{loop, client, random, clock_, metrics, slow_retry},
      kinds_{loop, client, random, slow_retry} {}

template <typename Response>
std::function<void(absl::StatusOr<Response>)> HttpKubeAccess::Observed(std::string_view verb, std::string resource,
                                                                       rpc::Done<Response> done) {
  return [this, verb, resource = std::move(resource),
          done = std::make_shared<rpc::Done<Response>>(std::move(done))](absl::StatusOr<Response> answer) {
    if (answer.ok()) readiness_.OnRequest(verb, resource, answer->has_error() ? &answer->error() : nullptr);
    (*done)(std::move(answer));
  };
}

void HttpKubeAccess::Write(v1::WriteRequest request, const std::string& job_uid, rpc::Done<v1::WriteResponse> done) {
  const std::string_view verb = VerbOf(request);
  std::string resource = ResourceName(request.resource(), request.subresource());
  if (!request.user_token().empty()) {
    // A right that a user lacks is not one that the gateway lacks.
    auto shared = std::make_shared<rpc::Done<v1::WriteResponse>>(std::move(done));
    auto answered = [shared](absl::StatusOr<v1::WriteResponse> answer) { (*shared)(std::move(answer)); };
    return writer_.Write(std::move(request), std::move(answered), job_uid);
  }
  writer_.Write(std::move(request), Observed(verb, std::move(resource), std::move(done)), job_uid);
}

void HttpKubeAccess::Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) {
  std::string resource = ResourceName(request.resource(), "");
  writer_.Get(std::move(request), Observed("get", std::move(resource), std::move(done)));
}

std::unique_ptr<ObjectWatch> HttpKubeAccess::Watch(const v1::Resource& resource, const std::string& ns,
                                                   const std::string& name, ObjectSeen seen) {
  return std::make_unique<ReflectedObject>(objects_, resource, ns, name, std::move(seen));
}

std::unique_ptr<KindSearch> HttpKubeAccess::FindKind(const WantedKind& wanted, bool absent, KindFound found) {
  return std::make_unique<KindFinder>(kinds_, wanted, absent, std::move(found));
}

std::unique_ptr<KindWatch> HttpKubeAccess::WatchKind(const v1::Resource& resource, KindListener& listener) {
  return std::make_unique<ReflectedKind>(objects_, resource, listener);
}

void HttpKubeAccess::DropUnsent(const std::function<bool(const v1::Owner&)>& is_stale) {
  writer_.DropWaiting([&](const v1::WriteRequest& request) { return is_stale(request.owner()); });
}

absl::Time HttpKubeAccess::ApiNow() { return absl::FromUnixMillis(clock_.NowMs()); }

int64_t HttpKubeAccess::ApiTimeMs() { return clock_.known() ? clock_.NowMs() : 0; }

}  // namespace basalt::gateway
