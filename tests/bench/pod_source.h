#pragma once

// The gateway's http::Client in a run. Pods with the job label come from memory, in chunks of the size that curl hands
// out, one chunk per task of the loop. Every other request goes to the scripted API server.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "common/exec/loop.h"
#include "common/http/http.h"
#include "tests/bench/cluster.h"

namespace basalt::bench {

class PodSource final : public http::Client {
 public:
  // The source is confined to `loop`, except for the atomics. `others` and `version`, the cluster's resourceVersion,
  // must outlive the source. With `stamps`, resourceVersions are microseconds since 1970, so that a reader of an event
  // knows the event's age.
  PodSource(Loop& loop, http::Client& others, std::atomic<int64_t>& version, ClusterShape shape, bool stamps = false);
  ~PodSource() override;

  std::unique_ptr<http::Call> Start(http::Request request, http::ResponseObserver& observer) override;

  // ---- any thread ----
  // Lets the list of pods begin. Before this call no pod is sent.
  void Release();
  // Sends one MODIFIED event for each pod, in an order that visits all jobs evenly, or only the next `events` of that
  // order if `events` is not 0. Requires: the previous lap is over.
  void RunLap(bool running, bool ready, int events = 0);
  // Whether every event of the laps so far has been handed over.
  bool idle() const { return !busy_.load(); }
  // The number of events that have been handed over.
  int64_t events() const { return events_.load(); }

 private:
  class Stream;
  void Schedule();
  void Step();
  int64_t NextVersion();

  Loop& loop_;
  http::Client& others_;
  std::atomic<int64_t>& version_;
  const ClusterShape shape_;
  const int stride_;
  const bool stamps_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  PodWriter writer_;
  Stream* stream_ = nullptr;  // Null if no stream is open.
  bool released_ = false;
  bool scheduled_ = false;
  bool running_ = true;
  bool ready_ = true;
  int left_ = 0;  // Events of the lap that are still to be made.
  int64_t position_ = 0;
  std::string buffer_;
  size_t taken_ = 0;
  std::atomic<bool> busy_ = false;
  std::atomic<int64_t> events_ = 0;
};

}  // namespace basalt::bench
