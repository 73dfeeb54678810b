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

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A '%' that is not followed by two hex digits stands for itself, as in most servers.
std::string Unescape(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexValue(text[i + 1]) >= 0 && HexValue(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(HexValue(text[i + 1]) * 16 + HexValue(text[i + 2])));
      i += 2;
    } else if (text[i] == '+' && plus_is_space) {
      out.push_back(' ');
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

std::string Escape(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (IsUnreserved(c)) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
  return out;
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
  // `done` may destroy this object: nothing is touched after it.
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

std::string_view Target::Query(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return {};
}

bool Target::HasQuery(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return true;
  }
  return false;
}

Target ParseTarget(std::string_view target) {
  Target parsed;
  target = target.substr(0, target.find('#'));
  const size_t question = target.find('?');
  std::string_view path = target.substr(0, question);
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    if (!segment.empty()) parsed.segments.push_back(Unescape(segment, /*plus_is_space=*/false));
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  std::string_view query = question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
  while (!query.empty()) {
    const size_t ampersand = query.find('&');
    const std::string_view pair = query.substr(0, ampersand);
    const size_t equals = pair.find('=');
    if (!pair.empty()) {
      parsed.query.emplace_back(Unescape(pair.substr(0, equals), true),
                                equals == std::string_view::npos ? "" : Unescape(pair.substr(equals + 1), true));
    }
    query = ampersand == std::string_view::npos ? std::string_view() : query.substr(ampersand + 1);
  }
  return parsed;
}

std::string EscapeSegment(std::string_view text) { return Escape(text); }
std::string EscapeQueryValue(std::string_view text) { return Escape(text); }

}  // namespace basalt::http
