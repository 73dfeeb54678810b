#include "tests/conformance/client.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/exec/run_on.h"
#include "common/http/fetch_and_wait.h"

namespace basalt::conformance {

bool Eventually(const std::function<bool()>& condition, absl::Duration limit) {
  for (const absl::Time end = absl::Now() + limit; absl::Now() < end; absl::SleepFor(absl::Milliseconds(20))) {
    if (condition()) return true;
  }
  return condition();
}

std::string At(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* found = FindPath(value, path);
  if (found == nullptr) return "";
  return found->is_string() ? std::string(found->get_string()) : ToText(*found);
}

std::string NameOf(const json::value& object) { return At(object, {"metadata", "name"}); }
std::string VersionOf(const json::value& object) { return At(object, {"metadata", "resourceVersion"}); }

int64_t NumberOf(std::string_view version) {
  int64_t number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

std::vector<std::string> Answer::AllHeaders(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : headers) {
    if (absl::EqualsIgnoreCase(ToAbsl(key), ToAbsl(name))) values.push_back(value);
  }
  return values;
}

std::vector<json::value> Answer::Items() const {
  const json::value* items = Find(json, "items");
  if (items == nullptr || !items->is_array()) return {};
  return {items->get_array().begin(), items->get_array().end()};
}

std::string Answer::Names() const {
  std::string names;
  for (const json::value& item : Items()) {
    if (!names.empty()) names += ' ';
    names += NameOf(item);
  }
  return names;
}

std::vector<std::string> Answer::Causes() const {
  std::vector<std::string> causes;
  const json::value* list = FindPath(json, {"details", "causes"});
  if (list == nullptr || !list->is_array()) return causes;
  for (const json::value& cause : list->get_array()) {
    causes.push_back(fmt::format("{} {}: {}", FindString(cause, "reason"), FindString(cause, "field"),
                                 FindString(cause, "message")));
  }
  return causes;
}

std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  return out << answer.status << ' ' << answer.body.substr(0, 1500);
}

// ---- Connection ----

Connection::Connection(const http::CurlOptions& options) : loop_(MakeThreadLoop("conformance")) {
  RunOn(*loop_, [&] { client_ = http::MakeCurlClient(*loop_, options); });
}

Connection::~Connection() {
  RunOn(*loop_, [&] { client_.reset(); });
}

Answer Connection::Send(http::Request request) {
  absl::StatusOr<http::Response> response = http::FetchAndWait(*loop_, *client_, std::move(request));
  Answer answer;
  if (!response.ok()) {
    answer.body = response.status().ToString();
    return answer;
  }
  answer.status = response->status;
  answer.headers = std::move(response->headers);
  answer.body = std::move(response->body);
  if (absl::StatusOr<json::value> parsed = ParseJson(answer.body); parsed.ok()) answer.json = *std::move(parsed);
  return answer;
}

// ---- Watch ----

class Watch::Observer : public http::ResponseObserver {
 public:
  void OnHead(const http::ResponseHead& head) override {
    const MutexLock lock(mutex_);
    head_ = head;
    changed_.NotifyAll();
  }
  void OnChunk(std::string_view data) override {
    const MutexLock lock(mutex_);
    body_ += data;
    if (head_.status != 200) return;
    for (size_t end = body_.find('\n'); end != std::string::npos; end = body_.find('\n')) {
      absl::StatusOr<json::value> line = ParseJson(std::string_view(body_).substr(0, end));
      body_.erase(0, end + 1);
      Event event;
      if (line.ok()) {
        event.type = FindString(*line, "type");
        if (const json::value* object = Find(*line, "object")) event.object = *object;
      } else {
        event.type = "not JSON";
      }
      events_.push_back(std::move(event));
    }
    changed_.NotifyAll();
  }
  void OnEnd(const absl::Status& status) override {
    const MutexLock lock(mutex_);
    end_ = status;
    changed_.NotifyAll();
  }

  http::ResponseHead Head(absl::Duration limit) {
    const MutexLock lock(mutex_);
    Await(limit, [this]() BASALT_REQUIRES(mutex_) { return head_.status != 0 || end_.has_value(); });
    return head_;
  }
  std::optional<Event> Next(absl::Duration limit) {
    const MutexLock lock(mutex_);
    Await(limit, [this]() BASALT_REQUIRES(mutex_) { return !events_.empty() || end_.has_value(); });
    if (events_.empty()) return std::nullopt;
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  std::optional<absl::Status> End(absl::Duration limit) {
    const MutexLock lock(mutex_);
    Await(limit, [this]() BASALT_REQUIRES(mutex_) { return end_.has_value(); });
    return end_;
  }
  std::string Body() {
    const MutexLock lock(mutex_);
    return body_;
  }

 private:
  // Waits until the condition holds or the limit has passed.
  template <typename Condition>
  void Await(absl::Duration limit, const Condition& holds) BASALT_REQUIRES(mutex_) {
    const auto until = absl::ToChronoTime(absl::Now() + limit);
    while (!holds() && changed_.WaitUntil(mutex_, until)) {
    }
  }

  Mutex mutex_;
  CondVar changed_;
  http::ResponseHead head_ BASALT_GUARDED_BY(mutex_);
  std::string body_ BASALT_GUARDED_BY(mutex_);
  std::deque<Event> events_ BASALT_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ BASALT_GUARDED_BY(mutex_);
};

Watch::Watch(Connection& connection, std::string target, http::Headers headers)
    : connection_(connection), observer_(std::make_shared<Observer>()) {
  http::Request request;
  request.target = std::move(target);
  request.headers = std::move(headers);
  request.timeout = absl::InfiniteDuration();
  RunOn(*connection_.loop_, [&] { call_ = connection_.client_->Start(std::move(request), *observer_); });
}

Watch::~Watch() {
  RunOn(*connection_.loop_, [&] { call_.reset(); });
}

int Watch::Status(absl::Duration limit) { return observer_->Head(limit).status; }

std::string Watch::Header(std::string_view name) {
  const http::ResponseHead head = observer_->Head(kPatience);
  return std::string(http::FindHeader(head.headers, name));
}

std::optional<Event> Watch::Next(absl::Duration limit) { return observer_->Next(limit); }

std::optional<Event> Watch::Until(const std::function<bool(const Event&)>& wanted, absl::Duration limit) {
  for (const absl::Time end = absl::Now() + limit;;) {
    std::optional<Event> event = Next(end - absl::Now());
    if (!event.has_value() || wanted(*event)) return event;
  }
}

Event Watch::Of(std::string_view name, absl::Duration limit) {
  std::optional<Event> event = Until([&](const Event& e) { return e.type != "BOOKMARK" && e.name() == name; }, limit);
  return event.has_value() ? *std::move(event) : Event{"none", {}};
}

std::string Watch::Take(int events) {
  std::string text;
  for (int i = 0; i < events; ++i) {
    const std::optional<Event> event = Until([](const Event& e) { return e.type != "BOOKMARK"; });
    if (!text.empty()) text += ' ';
    text += event.has_value() ? fmt::format("{} {}", event->type, event->name()) : "none";
    if (!event.has_value()) break;
  }
  return text;
}

bool Watch::Ended(absl::Duration limit) {
  const std::optional<absl::Status> end = observer_->End(limit);
  return end.has_value() && end->ok();
}

Answer Watch::Refusal() {
  observer_->End(kPatience);
  Answer answer;
  const http::ResponseHead head = observer_->Head(kPatience);
  answer.status = head.status;
  answer.headers = head.headers;
  answer.body = observer_->Body();
  if (absl::StatusOr<json::value> parsed = ParseJson(answer.body); parsed.ok()) answer.json = *std::move(parsed);
  return answer;
}

}  // namespace basalt::conformance
