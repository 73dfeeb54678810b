#include "kubesim/actors/client/informer.h"
#include "common/http/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace basalt::actors {
namespace {

std::string KeyOf(const json::value& object) {
  const json::value* metadata = Find(object, "metadata");
  if (metadata == nullptr) return {};
  return fmt::format("{}/{}", FindString(*metadata, "namespace"), FindString(*metadata, "name"));
}

// Returns the time of Retry-After, at most half a minute: one answer, perhaps of a proxy, must not keep the informer
// from observing changes for longer.
absl::Duration RetryAfter(const http::Headers& headers) {
  const std::string text(http::FindHeader(headers, "Retry-After"));
  return std::min(absl::Seconds(std::strtol(text.c_str(), nullptr, 10)), absl::Seconds(30));
}

}  // namespace

Informer::Informer(Loop& loop, http::Client& client, Random& random, InformerOptions options)
    : loop_(loop), client_(client), random_(random), options_(std::move(options)) {}

Informer::~Informer() {
  if (timer_ != kNoTimer) loop_.Cancel(timer_);
}

void Informer::Start() { List(); }

std::string Informer::TargetOf(std::string_view extra) const {
  std::string target = fmt::format("{}?{}", options_.path, extra);
  if (!options_.field_selector.empty()) target += "&fieldSelector=" + http::Escape(options_.field_selector);
  if (!options_.label_selector.empty()) target += "&labelSelector=" + http::Escape(options_.label_selector);
  return target;
}

void Informer::List() {
  if (continue_.empty()) ++listing_;
  std::string extra = fmt::format("limit={}", options_.page);
  if (!continue_.empty()) extra += "&continue=" + http::Escape(continue_);
  http::Request request;
  request.target = TargetOf(extra);
  request.headers = {{"Accept", "application/json"}, {"User-Agent", options_.user_agent}};
  call_ = http::Fetch(client_, std::move(request),
                      [this](absl::StatusOr<http::Response> response) { Listed(std::move(response)); });
}

void Informer::Listed(absl::StatusOr<http::Response> response) {
  absl::StatusOr<json::value> list = absl::UnknownError("no list");
  if (response.ok() && response->status == 200) list = ParseJson(response->body);
  if (!list.ok() || Find(*list, "metadata") == nullptr) {
    // Start the list over, whether the continue token has expired or another error came.
    continue_.clear();
    const bool expired = response.ok() && response->status == 410;
    if (!expired) ++failures_;
    return Again(true, response.ok() ? RetryAfter(response->headers) : absl::ZeroDuration());
  }
  const json::value& metadata = *Find(*list, "metadata");
  if (const json::value* items = Find(*list, "items"); items != nullptr && items->is_array()) {
    for (const json::value& item : items->get_array()) Announce(item);
  }
  continue_ = FindString(metadata, "continue");
  if (!continue_.empty()) return List();
  resource_version_ = FindString(metadata, "resourceVersion");
  std::vector<std::string> gone;
  for (const auto& [key, known] : known_) {
    if (known.listing != listing_) gone.push_back(key);
  }
  for (const std::string& key : gone) Remove(key);
  failures_ = 0;
  if (!std::exchange(synced_, true)) {
    for (InformerListener* listener : listeners_) listener->OnSynced();
  }
  Watch();
}

void Informer::Watch() {
  watch_status_ = 0;
  list_next_ = false;
  buffer_.clear();
  http::Request request;
  // The random part keeps the watches of many informers from ending at the same moment.
  const auto seconds = static_cast<int64_t>(absl::ToDoubleSeconds(options_.watch_time) * (1 + random_.Unit()));
  request.target = TargetOf(fmt::format("watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                                        resource_version_, std::max<int64_t>(1, seconds)));
  request.headers = {{"Accept", "application/json"}, {"User-Agent", options_.user_agent}};
  request.timeout = absl::InfiniteDuration();
  // The server ends a watch at its timeout. A connection that is silent for longer is dead.
  request.idle_timeout = absl::Seconds(seconds) + absl::Minutes(1);
  call_ = client_.Start(std::move(request), *this);
}

void Informer::OnHead(const http::ResponseHead& head) {
  watch_status_ = head.status;
  if (head.status == 410) list_next_ = true;
  if (head.status != 200) {
    if (!list_next_) ++failures_;
    return Again(list_next_, RetryAfter(head.headers));
  }
  failures_ = 0;
}

void Informer::OnChunk(std::string_view data) {
  buffer_.append(data);
  size_t from = 0;
  for (size_t end; (end = buffer_.find('\n', from)) != std::string::npos; from = end + 1) {
    OnEvent(std::string_view(buffer_).substr(from, end - from));
    if (list_next_) return Again(true);
  }
  buffer_.erase(0, from);
}

void Informer::OnEnd(const absl::Status& status) {
  if (!status.ok()) ++failures_;
  Again(false);
}

void Informer::OnEvent(std::string_view line) {
  const absl::StatusOr<json::value> event = ParseJson(line);
  const json::value* object = event.ok() ? Find(*event, "object") : nullptr;
  if (object == nullptr) {
    // An unreadable event may have been a change, so the next request has to be a list.
    list_next_ = true;
    return;
  }
  const std::string_view type = FindString(*event, "type");
  if (type == "ERROR") {
    list_next_ = true;
    return;
  }
  if (const json::value* metadata = Find(*object, "metadata")) {
    if (const std::string_view version = FindString(*metadata, "resourceVersion"); !version.empty()) {
      resource_version_ = version;
    }
  }
  if (type == "ADDED" || type == "MODIFIED") {
    Announce(*object);
  } else if (type == "DELETED") {
    Remove(KeyOf(*object));
  }
}

void Informer::Announce(const json::value& object) {
  const std::string key = KeyOf(object);
  const std::string uid(FindString(*Find(object, "metadata"), "uid"));
  if (const auto found = known_.find(key); found != known_.end() && found->second.uid != uid) Remove(key);
  Known& known = known_[key];
  known.uid = uid;
  known.listing = listing_;
  for (InformerListener* listener : listeners_) listener->OnObject(object);
}

void Informer::Remove(const std::string& key) {
  const auto found = known_.find(key);
  if (found == known_.end()) return;
  const size_t slash = key.find('/');
  const ObjectName gone{key.substr(0, slash), key.substr(slash + 1), found->second.uid};
  known_.erase(found);
  for (InformerListener* listener : listeners_) listener->OnGone(gone);
}

void Informer::Again(bool from_list, absl::Duration at_least) {
  call_.reset();
  const bool list = from_list || resource_version_.empty();
  if (list) continue_.clear();
  const int shift = std::min(failures_, 10);
  const absl::Duration back_off = failures_ == 0
                                      ? options_.least_back_off
                                      : std::min(options_.least_back_off * (1 << shift), options_.most_back_off);
  const absl::Duration wait = std::max(back_off * (0.5 + random_.Unit() / 2), at_least);
  timer_ = loop_.RunAfter(wait, [this, list] {
    timer_ = kNoTimer;
    list ? List() : Watch();
  });
}

}  // namespace basalt::actors
