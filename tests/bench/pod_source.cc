#include "tests/bench/pod_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/time/clock.h"
#include "common/http/target.h"

namespace basalt::bench {
namespace {

constexpr size_t kChunk = 16 << 10;

// Returns a stride that is coprime to `pods` and far from its divisors, so that events that follow each other belong to
// different jobs.
int StrideFor(int pods) {
  int stride = std::max(1, static_cast<int>(pods * 0.618));
  while (std::gcd(stride, pods) != 1) ++stride;
  return stride;
}

}  // namespace

// The answer to a list+watch or a watch of pods.
class PodSource::Stream final : public http::Call {
 public:
  Stream(PodSource& source, http::ResponseObserver& observer, bool list)
      : source_(source), alive_(source.alive_), observer_(observer), to_list_(list ? source.shape_.pods() : -1) {}
  ~Stream() override {
    if (*alive_ && source_.stream_ == this) source_.stream_ = nullptr;
  }

  void Head() {
    if (!std::exchange(has_head_, true)) observer_.OnHead({200, {{"Content-Type", "application/json"}}});
  }
  // Whether the initial list is not complete yet.
  bool listing() const { return to_list_ >= 0; }
  void AppendListed(std::string& out) {
    if (to_list_ == 0) {
      fmt::format_to(std::back_inserter(out),
                     R"({{"type":"BOOKMARK","object":{{"kind":"Pod","apiVersion":"v1","metadata":{{)"
                     R"("resourceVersion":"{}","annotations":{{"k8s.io/initial-events-end":"true"}}}}}}}})"
                     "\n",
                     source_.version_.load());
    } else {
      source_.writer_.AppendLine("ADDED", source_.shape_.pods() - to_list_, true, true, source_.NextVersion(), out);
    }
    --to_list_;
  }
  http::ResponseObserver& observer() { return observer_; }

 private:
  PodSource& source_;
  const std::shared_ptr<bool> alive_;
  http::ResponseObserver& observer_;
  bool has_head_ = false;
  int to_list_;
};

PodSource::PodSource(Loop& loop, http::Client& others, std::atomic<int64_t>& version, ClusterShape shape, bool stamps)
    : loop_(loop),
      others_(others),
      version_(version),
      shape_(shape),
      stride_(StrideFor(shape.pods())),
      stamps_(stamps),
      writer_(shape) {}

PodSource::~PodSource() { *alive_ = false; }

std::unique_ptr<http::Call> PodSource::Start(http::Request request, http::ResponseObserver& observer) {
  const http::Target target = http::ParseTarget(request.target);
  const bool is_pods = target.segments == std::vector<std::string>{"api", "v1", "pods"};
  if (!is_pods || target.HasQuery("fieldSelector") || !target.HasQuery("watch")) {
    return others_.Start(std::move(request), observer);
  }
  auto stream = std::make_unique<Stream>(*this, observer, target.HasQuery("sendInitialEvents"));
  stream_ = stream.get();
  buffer_.clear();
  taken_ = 0;
  Schedule();
  return stream;
}

void PodSource::Release() {
  loop_.Post([this] {
    released_ = true;
    Schedule();
  });
}

void PodSource::RunLap(bool running, bool ready, int events) {
  busy_ = true;
  loop_.Post([this, running, ready, events] {
    running_ = running;
    ready_ = ready;
    left_ = events > 0 ? events : shape_.pods();
    Schedule();
  });
}

void PodSource::Schedule() {
  if (scheduled_ || stream_ == nullptr || !released_) return;
  scheduled_ = true;
  loop_.Post([this, alive = alive_] {
    if (!*alive) return;
    scheduled_ = false;
    Step();
  });
}

int64_t PodSource::NextVersion() {
  if (stamps_) version_ = std::max(version_.load(), absl::ToUnixMicros(absl::Now()));
  return ++version_;
}

void PodSource::Step() {
  if (stream_ == nullptr) return;
  Stream& stream = *stream_;
  stream.Head();
  buffer_.erase(0, std::exchange(taken_, 0));
  while (buffer_.size() < kChunk && (stream.listing() || left_ > 0)) {
    if (stream.listing()) {
      stream.AppendListed(buffer_);
      continue;
    }
    const int64_t position = position_++ % shape_.pods();
    writer_.AppendLine("MODIFIED", static_cast<int>(position * stride_ % shape_.pods()), running_, ready_,
                       NextVersion(), buffer_);
    --left_;
    ++events_;
  }
  if (buffer_.empty()) return;
  taken_ = std::min(kChunk, buffer_.size());
  stream.observer().OnChunk(std::string_view(buffer_).substr(0, taken_));
  if (stream_ != &stream) return;  // The observer has ended the stream.
  if (left_ == 0 && !stream.listing() && taken_ == buffer_.size()) busy_ = false;
  if (taken_ < buffer_.size() || stream.listing() || left_ > 0) Schedule();
}

}  // namespace basalt::bench
