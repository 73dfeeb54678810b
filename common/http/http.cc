#include "common/http/http.h"

#include <fmt/format.h>

#include "common/base/status.h"

namespace basalt::http {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (Lower(a[i]) != Lower(b[i])) return false;
  }
  return true;
}

class FetchCall final : public Call, public ResponseObserver {
 public:
  FetchCall(FetchDone done, size_t max_body) : done_(std::move(done)), max_body_(max_body) {}

  void Start(Client& client, Request request) { inner_ = client.Start(std::move(request), *this); }

  void OnHead(const ResponseHead& head) override {
    response_.status = head.status;
    response_.headers = head.headers;
  }

  void OnChunk(std::string_view data) override {
    if (response_.body.size() + data.size() > max_body_) {
      Finish(MakeStatus(absl::StatusCode::kResourceExhausted,
                        fmt::format("the response is larger than the limit of {} bytes", max_body_)));
      return;
    }
    response_.body.append(data);
  }

  void OnEnd(const absl::Status& status) override {
    if (status.ok()) {
      Finish(std::move(response_));
    } else {
      Finish(status);
    }
  }

 private:
  // `done` may destroy this object, so nothing uses a member after the call.
  void Finish(absl::StatusOr<Response> result) {
    const std::unique_ptr<Call> inner = std::move(inner_);
    const FetchDone done = std::move(done_);
    done(std::move(result));
  }

  FetchDone done_;
  const size_t max_body_;
  Response response_;
  std::unique_ptr<Call> inner_;
};

}  // namespace

std::string_view FindHeader(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (EqualsIgnoringCase(key, name)) return value;
  }
  return {};
}

std::unique_ptr<Call> Fetch(Client& client, Request request, FetchDone done, size_t max_body) {
  auto call = std::make_unique<FetchCall>(std::move(done), max_body);
  call->Start(client, std::move(request));
  return call;
}

}  // namespace basalt::http
