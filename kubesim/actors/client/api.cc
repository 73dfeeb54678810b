#include "kubesim/actors/client/api.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace basalt::actors {
namespace {

// The limit of a Retry-After: a request that waits keeps others from being sent.
constexpr absl::Duration kLongestPause = absl::Seconds(30);

bool WorthRepeating(int status, bool retry_conflict) {
  return status == 429 || (status >= 500 && status != 501) || (status == 409 && retry_conflict);
}

}  // namespace

Api::Api(Loop& loop, http::Client& client, Random& random, ApiOptions options)
    : loop_(loop), client_(client), random_(random), options_(std::move(options)) {}

Api::~Api() {
  for (const auto& [id, work] : running_) {
    if (work->timer != kNoTimer) loop_.Cancel(work->timer);
  }
}

void Api::Do(ApiRequest request, Done done) {
  auto work = std::make_unique<Work>();
  work->request = std::move(request);
  work->done = std::move(done);
  queue_.push_back(std::move(work));
  Pump();
}

void Api::Pump() {
  while (!queue_.empty() && running_.size() < options_.max_in_flight) {
    const uint64_t id = next_id_++;
    running_.emplace(id, std::move(queue_.front()));
    queue_.pop_front();
    Send(id);
  }
}

void Api::Send(uint64_t id) {
  Work& work = *running_.at(id);
  ++work.attempt;
  http::Request request;
  request.method = work.request.method;
  request.target = work.request.target;
  request.body = work.request.body;
  request.timeout = options_.timeout;
  request.headers = {{"Accept", "application/json"}, {"User-Agent", options_.user_agent}};
  if (!request.body.empty()) request.headers.emplace_back("Content-Type", work.request.content_type);
  work.call = http::Fetch(client_, std::move(request),
                          [this, id](absl::StatusOr<http::Response> response) { Answered(id, std::move(response)); });
}

void Api::Answered(uint64_t id, absl::StatusOr<http::Response> response) {
  Work& work = *running_.at(id);
  if (!response.ok()) return Repeat(id, absl::ZeroDuration());
  if (WorthRepeating(response->status, work.request.retry_conflict)) {
    const std::string after(http::FindHeader(response->headers, "Retry-After"));
    return Repeat(id, std::min(absl::Seconds(std::strtol(after.c_str(), nullptr, 10)), kLongestPause));
  }
  ApiAnswer answer;
  answer.status = response->status;
  if (absl::StatusOr<json::value> body = ParseJson(response->body); body.ok()) answer.body = *std::move(body);
  const std::unique_ptr<Work> done = std::move(running_.at(id));
  running_.erase(id);
  Pump();
  if (done->done) done->done(answer);
}

void Api::Repeat(uint64_t id, absl::Duration at_least) {
  Work& work = *running_.at(id);
  work.call.reset();
  const int shift = std::min(work.attempt - 1, 10);
  const absl::Duration back_off = std::min(options_.least_back_off * (1 << shift), options_.most_back_off);
  const absl::Duration wait = std::max(back_off * (0.5 + random_.Unit() / 2), at_least);
  work.timer = loop_.RunAfter(wait, [this, id] {
    running_.at(id)->timer = kNoTimer;
    Send(id);
  });
}

}  // namespace basalt::actors
