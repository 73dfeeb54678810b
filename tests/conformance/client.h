#pragma once

// An HTTP client for the cases: one line per request to the server under test, and every wait is bounded.
//
// Made, used and destroyed by one thread. A thread of the client's own moves the bytes.
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

constexpr absl::Duration kPatience = absl::Seconds(20);  // The limit for events that should come at once.

// Waits until the condition holds. Returns false if the condition does not hold within the limit.
bool Eventually(const std::function<bool()>& condition, absl::Duration limit = kPatience);

// Returns the value at the path as text: a string as it is, any other value as JSON, "" if there is no value.
std::string At(const json::value& value, std::initializer_list<std::string_view> path);
std::string NameOf(const json::value& object);
std::string VersionOf(const json::value& object);
// Returns a resourceVersion as a number, or 0 for an empty one.
int64_t NumberOf(std::string_view version);

struct Answer {
  int status = 0;  // 0 if no answer came; `body` is then the reason.
  http::Headers headers;
  std::string body;
  json::value json;  // Null if the body is not JSON.

  bool ok() const { return status >= 200 && status < 300; }
  std::string Header(std::string_view name) const { return std::string(http::FindHeader(headers, name)); }
  std::vector<std::string> AllHeaders(std::string_view name) const;
  std::string At(std::initializer_list<std::string_view> path) const { return conformance::At(json, path); }
  std::string reason() const { return At({"reason"}); }
  std::string message() const { return At({"message"}); }
  std::string version() const { return At({"metadata", "resourceVersion"}); }
  std::string uid() const { return At({"metadata", "uid"}); }
  // The items of a list.
  std::vector<json::value> Items() const;
  // The names of a list's items, as "a b c".
  std::string Names() const;
  std::string continue_token() const { return At({"metadata", "continue"}); }
  // The causes of a Status, each as "reason field: message".
  std::vector<std::string> Causes() const;
};
// Prints the status and the beginning of the body, for failed expectations.
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

// An open watch. The destructor hangs up. The connection must outlive the watch.
class Watch {
 public:
  Watch(Connection& connection, std::string target, http::Headers headers = {});
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Returns the HTTP status, or 0 if no head comes within the limit.
  int Status(absl::Duration limit = kPatience);
  std::string Header(std::string_view name);
  // Returns the next event, or nullopt if none comes within the limit or the watch has ended.
  std::optional<Event> Next(absl::Duration limit = kPatience);
  // Returns the next event that satisfies `wanted`, and skips the events before that one.
  std::optional<Event> Until(const std::function<bool(const Event&)>& wanted, absl::Duration limit = kPatience);
  // Returns the next event of that name and skips bookmarks and other events. Returns an event of type "none" if none
  // comes.
  Event Of(std::string_view name, absl::Duration limit = kPatience);
  // Returns the next `events` events that are no bookmarks, as "ADDED a MODIFIED a".
  std::string Take(int events);
  // Whether the server has ended the answer as HTTP requires.
  bool Ended(absl::Duration limit = kPatience);
  // Returns the part of the body that is not an event. This is the Status of a refusal.
  Answer Refusal();

 private:
  class Observer;
  Connection& connection_;
  std::shared_ptr<Observer> observer_;
  std::unique_ptr<http::Call> call_;
};

}  // namespace basalt::conformance
