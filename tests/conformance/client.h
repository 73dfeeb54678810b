#pragma once

// HTTP to the server under test as a case wants it: one line per request, every wait bounded.
//
// Made, used and destroyed by one thread; a thread of the client's own moves the bytes.
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "common/exec/loop.h"
#include "common/http/curl/curl_client.h"
#include "common/http/http.h"

namespace basalt::conformance {

constexpr absl::Duration kPatience = absl::Seconds(20);  // For what should come at once.

// Until the condition holds; false when it still does not at the end.
bool Eventually(const std::function<bool()>& condition, absl::Duration limit = kPatience);

// What lies at the path as text: a string as it is, anything else as JSON, "" where there is nothing.
std::string At(const json::value& value, std::initializer_list<std::string_view> path);
std::string NameOf(const json::value& object);
std::string VersionOf(const json::value& object);
// resourceVersion as a number; 0 where there is none.
int64_t NumberOf(std::string_view version);

struct Answer {
  int status = 0;  // 0: none came, `body` says why.
  http::Headers headers;
  std::string body;
  json::value json;  // Null where the body is not JSON.

  bool ok() const { return status >= 200 && status < 300; }
  std::string Header(std::string_view name) const { return std::string(http::FindHeader(headers, name)); }
  std::vector<std::string> AllHeaders(std::string_view name) const;
  std::string At(std::initializer_list<std::string_view> path) const { return conformance::At(json, path); }
  std::string reason() const { return At({"reason"}); }
  std::string message() const { return At({"message"}); }
  std::string version() const { return At({"metadata", "resourceVersion"}); }
  std::string uid() const { return At({"metadata", "uid"}); }
  // Of a list.
  std::vector<json::value> Items() const;
  std::string Names() const;  // "a b c"
  std::string continue_token() const { return At({"metadata", "continue"}); }
  // The causes of a Status: "reason field: message" each.
  std::vector<std::string> Causes() const;
};
// The status and the body's beginning: what a failed expectation shows.
std::ostream& operator<<(std::ostream& out, const Answer& answer);

class Connection {
 public:
  explicit Connection(const http::CurlOptions& options);
  ~Connection();
  Answer Send(http::Request request);

 private:
  friend class Watch;

  std::unique_ptr<Loop> loop_;
  std::unique_ptr<http::Client> client_;
};

struct Event {
  std::string type;  // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
  json::value object;
  std::string name() const { return NameOf(object); }
  std::string version() const { return VersionOf(object); }
  std::string At(std::initializer_list<std::string_view> path) const { return conformance::At(object, path); }
};

// An open watch. Destroying it hangs up; before its connection goes.
class Watch {
 public:
  Watch(Connection& connection, std::string target, http::Headers headers = {});
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The HTTP status; 0 when no head comes within the limit.
  int Status(absl::Duration limit = kPatience);
  std::string Header(std::string_view name);
  // The next event; null when none comes within the limit, or none can come any more.
  std::optional<Event> Next(absl::Duration limit = kPatience);
  // The next event that satisfies it; those before are passed over.
  std::optional<Event> Until(const std::function<bool(const Event&)>& wanted, absl::Duration limit = kPatience);
  // The next of that name, bookmarks and others passed over; a made-up event of type "none" when none comes.
  Event Of(std::string_view name, absl::Duration limit = kPatience);
  // "ADDED a MODIFIED a", of the next so many events that are no bookmarks.
  std::string Take(int events);
  // The server has ended the answer as HTTP says it should.
  bool Ended(absl::Duration limit = kPatience);
  // The body as far as no event was made of it: the Status of a refusal.
  Answer Refusal();

 private:
  class Observer;
  Connection& connection_;
  std::shared_ptr<Observer> observer_;
  std::unique_ptr<http::Call> call_;
};

}  // namespace basalt::conformance
