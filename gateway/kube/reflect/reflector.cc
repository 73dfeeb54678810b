#include "gateway/kube/reflect/reflector.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/status.h"
#include "common/http/target.h"
#include "gateway/kube/refusal.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

constexpr size_t kMaxRefusal = 64 << 10;
// After this many failures in a row, the watch may ask for a version that this server cannot serve: list anew.
constexpr int kFailedWatches = 5;
constexpr int kShortLists = 2;

bool IsExpired(const v1::KubeError& error) {
  return error.code() == 410 || error.reason() == "Expired" || error.reason() == "Gone";
}

// Returns how long this watch waits because the server asks for it, before jitter of up to half as long again.
absl::Duration PauseOf(const v1::KubeError& error) {
  return std::min(absl::Milliseconds(error.retry_after_ms()), kLongestPause / 1.5);
}

absl::Status ToStatus(const v1::KubeError& error) {
  const bool stranger = error.code() == 401;
  return MakeStatus(stranger ? absl::StatusCode::kUnauthenticated : absl::StatusCode::kInternal,
                    fmt::format("HTTP {} {}: {}", error.code(), error.reason(), error.message()));
}

}  // namespace

Reflector::Reflector(Loop& loop, http::Client& client, Random& random, ReflectorOptions options, ReflectorSink& sink,
                     ApiClock* clock)
    : loop_(loop),
      client_(client),
      random_(random),
      options_(std::move(options)),
      sink_(sink),
      clock_(clock),
      streaming_(options_.streaming_list == ReflectorOptions::StreamingList::kTry),
      back_off_(options_.back_off),
      lines_(options_.max_line),
      decoder_(options_.kind) {
  if (options_.wants != nullptr) decoder_.KeepOnly(options_.wants);
  if (options_.distrusts_first_refusal) lost_ = loop_.Now();
}

Reflector::~Reflector() { Stop(); }

void Reflector::Start() {
  if (phase_ != Phase::kStopped) return;
  if (resource_version_ == 0) return List();
  StartWatch();
}

void Reflector::Stop() {
  EndExchange();
  ForgetListed();
  phase_ = Phase::kStopped;
}

// ---- requests ----

std::string Reflector::Target(std::vector<std::pair<std::string, std::string>> query) const {
  if (!options_.label_selector.empty()) query.emplace_back("labelSelector", options_.label_selector);
  if (!options_.field_selector.empty()) query.emplace_back("fieldSelector", options_.field_selector);
  std::string target = options_.path;
  char separator = '?';
  for (const auto& [name, value] : query) {
    target += fmt::format("{}{}={}", separator, name, http::Escape(value));
    separator = '&';
  }
  return target;
}

void Reflector::Open(Phase phase, std::string target, absl::Duration timeout, absl::Duration idle_timeout) {
  EndExchange();
  phase_ = phase;
  status_ = 0;
  headers_.clear();
  body_.clear();
  lines_.Reset();
  heard_ = false;
  opened_ = loop_.Now();
  http::Request request;
  request.target = std::move(target);
  request.headers = {{"Accept", "application/json"}, {"User-Agent", "basalt-gateway"}};
  request.timeout = timeout;
  request.idle_timeout = idle_timeout;
  request.bulk = true;
  // For a watch's few bytes at a time, compression would gain nothing and cost the server a compressor for each watch.
  request.compressed = phase == Phase::kPage && options_.compressed;
  call_ = client_.Start(std::move(request), *this);
}

void Reflector::List() {
  ForgetListed();
  if (streaming_) return StartStreamingList();
  FetchPage();
}

void Reflector::FetchPage() {
  std::vector<std::pair<std::string, std::string>> query;
  // A list whose continue tokens expire again and again is requested in one piece.
  if (expired_pages_ < 2) query.emplace_back("limit", std::to_string(options_.page_limit));
  if (!continue_.empty()) query.emplace_back("continue", continue_);
  Open(Phase::kPage, Target(std::move(query)), options_.list_timeout, absl::InfiniteDuration());
}

void Reflector::StartStreamingList() {
  const absl::Duration jittered = options_.watch_timeout * (1.0 + random_.Unit());
  Open(Phase::kStreamingList,
       Target({{"watch", "true"},
               {"sendInitialEvents", "true"},
               {"allowWatchBookmarks", "true"},
               {"resourceVersionMatch", "NotOlderThan"},
               {"timeoutSeconds", std::to_string(absl::ToInt64Seconds(jittered))}}),
       absl::InfiniteDuration(), options_.idle_timeout);
  list_timer_ = loop_.RunAfter(options_.list_timeout, [this] {
    list_timer_ = kNoTimer;
    StreamEnded(absl::DeadlineExceededError("the streaming list did not end in time"));
  });
}

void Reflector::StartWatch() {
  const absl::Duration jittered = options_.watch_timeout * (1.0 + random_.Unit());
  Open(Phase::kWatch,
       Target({{"watch", "true"},
               {"allowWatchBookmarks", "true"},
               {"resourceVersion", std::to_string(resource_version_)},
               {"timeoutSeconds", std::to_string(absl::ToInt64Seconds(jittered))}}),
       absl::InfiniteDuration(), options_.idle_timeout);
}

void Reflector::EndExchange() {
  call_.reset();
  if (timer_ != kNoTimer) loop_.Cancel(std::exchange(timer_, kNoTimer));
  if (list_timer_ != kNoTimer) loop_.Cancel(std::exchange(list_timer_, kNoTimer));
}

void Reflector::ForgetListed() {
  listed_ = {};
  listed_at_.clear();
  listed_version_ = 0;
  continue_.clear();
}

// ---- answers ----

void Reflector::OnHead(const http::ResponseHead& head) {
  status_ = head.status;
  headers_ = head.headers;
  if (clock_ != nullptr) clock_->Observe(status_, http::FindHeader(headers_, "Date"));
  if (status_ == 200) sink_.OnAccepted();
}

void Reflector::OnChunk(std::string_view data) {
  if (status_ != 200) {
    body_.append(data.substr(0, kMaxRefusal - std::min(kMaxRefusal, body_.size())));
    return;
  }
  if (phase_ == Phase::kPage) {
    if (body_.size() + data.size() > options_.max_page) {
      return RetryLater(MakeStatus(absl::StatusCode::kResourceExhausted,
                                   fmt::format("a page of the list is larger than {} bytes", options_.max_page)));
    }
    body_.append(data);
    return;
  }
  const absl::Status status = lines_.Feed(data, [this](std::string_view line) { return HandleLine(line); });
  if (!status.ok()) {
    // The watch cannot get past this line; a list may, if the object has shrunk or gone.
    resource_version_ = 0;
    RetryLater(status);
  }
}

void Reflector::OnEnd(const absl::Status& status) {
  call_.reset();
  if (status_ != 0 && status_ != 200) {
    return HandleRefusal(ReadRefusal({.status = status_, .headers = headers_, .body = body_}));
  }
  if (phase_ == Phase::kPage && status.ok()) return HandlePage();
  StreamEnded(status);
}

void Reflector::HandlePage() {
  absl::StatusOr<DecodedList> page = decoder_.DecodeList(body_);
  body_ = std::string();
  if (!page.ok()) return RetryLater(Annotate(page.status(), "the list cannot be read"));
  // The first page's version counts: the watch reports again whatever happens while the other pages are fetched.
  if (listed_version_ == 0) listed_version_ = page->resource_version;
  listed_.insert(listed_.end(), std::make_move_iterator(page->items.begin()),
                 std::make_move_iterator(page->items.end()));
  continue_ = std::move(page->continue_token);
  if (!continue_.empty()) return FetchPage();
  if (listed_version_ == 0) return RetryLater(absl::InternalError("the list has no resourceVersion"));
  expired_pages_ = 0;
  const int64_t version = listed_version_;
  Replace(std::exchange(listed_, {}), version);
  if (phase_ == Phase::kPage) StartWatch();
}

void Reflector::Replace(std::vector<Decoded> objects, int64_t resource_version) {
  ForgetListed();
  presence_ = Presence::kServed;
  failed_watches_ = 0;
  resource_version_ = resource_version;
  sink_.OnReplace(std::move(objects), resource_version);
}

bool Reflector::HandleLine(std::string_view line) {
  if (const absl::Status status = decoder_.DecodeWatchLine(line, event_); !status.ok()) {
    resource_version_ = 0;
    RetryLater(Annotate(status, fmt::format("a line of {} bytes of the watch cannot be read", line.size())));
    return false;
  }
  if (event_.type == WatchType::kError) {
    HandleWatchError(event_.error);
    return false;
  }
  heard_ = true;
  if (phase_ == Phase::kStreamingList) return HandleListed();
  failed_watches_ = 0;
  relisted_at_once_ = false;
  back_off_.Reset();
  resource_version_ = std::max(resource_version_, event_.resource_version);
  if (event_.type == WatchType::kBookmark || event_.decoded.is_unwanted) {
    sink_.OnBookmark(event_.resource_version);
  } else {
    sink_.OnEvent(event_.type, event_.decoded, event_.resource_version);
  }
  return phase_ == Phase::kWatch;
}

bool Reflector::HandleListed() {
  if (event_.type == WatchType::kBookmark) {
    if (!event_.initial_events_end) return true;
    loop_.Cancel(std::exchange(list_timer_, kNoTimer));
    short_lists_ = 0;
    phase_ = Phase::kWatch;
    std::vector<Decoded> objects;
    for (Decoded& decoded : listed_) {
      // The object was deleted while the list was streaming.
      if (decoded.object.kind_case() == kube::v1::Object::KIND_NOT_SET) continue;
      objects.push_back(std::move(decoded));
    }
    Replace(std::move(objects), event_.resource_version);
    return phase_ == Phase::kWatch;
  }
  if (event_.decoded.is_unwanted) return true;
  const ObjectRef name = RefOf(event_.decoded.object);
  const auto [at, inserted] = listed_at_.try_emplace({std::string(name.ns), std::string(name.name)}, listed_.size());
  if (inserted) listed_.emplace_back();
  listed_[at->second] = event_.type == WatchType::kDeleted ? Decoded() : std::move(event_.decoded);
  return true;
}

void Reflector::HandleRefusal(const v1::KubeError& error) {
  if (error.code() == 404) {
    const bool reported = presence_ == Presence::kAbsent;
    presence_ = Presence::kAbsent;
    resource_version_ = 0;
    RetrySlowly();
    if (!reported) sink_.OnAbsent();
    return;
  }
  if (error.code() == 403 && loop_.Now() - lost_ < options_.starting) return RetryLater(ToStatus(error));
  if (error.code() == 403) {
    const bool reported = presence_ == Presence::kForbidden;
    presence_ = Presence::kForbidden;
    // The resource is listed again afterwards, so that the sink learns that the gateway may read it again.
    resource_version_ = 0;
    RetrySlowly();
    if (!reported) sink_.OnForbidden(error.message());
    return;
  }
  if (phase_ == Phase::kStreamingList && (error.code() == 400 || error.code() == 422)) {
    streaming_ = false;
    return List();
  }
  if (phase_ == Phase::kPage && IsExpired(error) && !continue_.empty()) {
    ++expired_pages_;
    return RetryLater(ToStatus(error));
  }
  if (phase_ == Phase::kWatch) return HandleWatchError(error);
  RetryLater(ToStatus(error), PauseOf(error));
}

void Reflector::HandleWatchError(const v1::KubeError& error) {
  if (IsExpired(error) && phase_ == Phase::kWatch) {
    // The first expiry leads to a list at once: nobody is at fault. A server that expires everything meets the
    // back-off.
    resource_version_ = 0;
    if (!std::exchange(relisted_at_once_, true)) return Relist();
    return RetryLater(ToStatus(error));
  }
  // A server that is starting, ending or overloaded proves nothing about the version, and a list would cost it more.
  const bool busy = error.code() == 429 || error.code() == 503 || error.code() == 401;
  if (!busy && ++failed_watches_ >= kFailedWatches) resource_version_ = 0;
  RetryLater(ToStatus(error), PauseOf(error) * (1.0 + 0.5 * random_.Unit()));
}

void Reflector::StreamEnded(const absl::Status& status) {
  if (absl::IsUnavailable(status) || absl::IsUnknown(status)) lost_ = loop_.Now();
  const bool timed_out = absl::IsDeadlineExceeded(status);
  if (phase_ == Phase::kStreamingList) {
    // A server that does not know streaming lists may take the request for a plain watch, which never completes.
    if ((status.ok() || timed_out) && ++short_lists_ >= kShortLists) {
      streaming_ = false;
      return Relist();
    }
    return RetryLater(status.ok() ? absl::InternalError("the streaming list ended before it was complete") : status);
  }
  if (phase_ == Phase::kWatch && status_ == 200) {
    const bool lived = heard_ || loop_.Now() - opened_ >= absl::Seconds(1);
    if (lived) {
      back_off_.Reset();
      // The watch was ended by its own timeout, or was silent for too long.
      if (status.ok() || timed_out) return StartWatch();
    } else if (++failed_watches_ >= kFailedWatches) {
      resource_version_ = 0;
    }
  }
  RetryLater(status.ok() ? absl::InternalError("the watch ended as soon as it began") : status);
}

// ---- retries ----

void Reflector::Relist() {
  EndExchange();
  List();
}

void Reflector::RetryAfter(absl::Duration delay) {
  EndExchange();
  ForgetListed();
  phase_ = Phase::kWaiting;
  timer_ = loop_.RunAfter(delay, [this] {
    timer_ = kNoTimer;
    phase_ = Phase::kStopped;
    Start();
  });
}

void Reflector::RetryLater(const absl::Status& reason, absl::Duration at_least) {
  RetryAfter(std::max(back_off_.Next(random_), at_least));
  sink_.OnError(Annotate(reason, options_.watch));
}

void Reflector::RetrySlowly() { RetryAfter(options_.slow_retry * (0.5 + random_.Unit())); }

}  // namespace basalt::gateway
