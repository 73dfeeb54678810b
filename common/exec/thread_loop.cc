#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "common/base/mutex.h"
#include "common/exec/loop.h"
#include "common/exec/process_clock.h"

namespace basalt {
namespace {

// Limits one wait. It uses the wall clock, which may be set back meanwhile: ThreadSanitizer does not see waits by other
// clocks.
constexpr absl::Duration kLongestWait = absl::Seconds(1);

class ThreadLoop final : public Loop {
 public:
  explicit ThreadLoop(std::string name) : name_(std::move(name)), thread_([this] { Run(); }) {
    pthread_setname_np(thread_.native_handle(), name_.substr(0, 15).c_str());
  }

  ~ThreadLoop() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.NotifyOne();
    thread_.join();
  }

  absl::Time Now() const override { return ProcessNow(); }

  void Post(Task task) override {
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
      tasks_.push_back(std::move(task));
      if (tasks_.size() > 1) return;  // The loop is awake or has been notified already.
    }
    changed_.NotifyOne();
  }

  TimerId RunAt(absl::Time when, Task task) override {
    TimerId id;
    {
      MutexLock lock(mutex_);
      id = next_id_++;
      timers_.emplace(std::make_pair(when, id), std::move(task));
      when_.emplace(id, when);
      if (timers_.begin()->first.second != id) return id;
    }
    changed_.NotifyOne();
    return id;
  }

  void Cancel(TimerId id) override {
    Task dropped;  // Is destroyed outside the lock, since a task may own anything.
    MutexLock lock(mutex_);
    const auto found = when_.find(id);
    if (found == when_.end()) return;
    const auto timer = timers_.find({found->second, id});
    dropped = std::move(timer->second);
    timers_.erase(timer);
    when_.erase(found);
  }

  bool IsCurrent() const override { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  // Returns the next task, in turn from the due timers and from the posted tasks, so that neither starves the other. A
  // timer leaves the table only when it runs, so that it can be cancelled until then. Nullopt if the thread shall stop.
  std::optional<Task> Take() BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (true) {
      const absl::Duration left = timers_.empty() ? kLongestWait : timers_.begin()->first.first - ProcessNow();
      const bool due = !timers_.empty() && left <= absl::ZeroDuration();
      if (due && (tasks_.empty() || !last_was_timer_)) {
        auto node = timers_.extract(timers_.begin());
        when_.erase(node.key().second);
        last_was_timer_ = true;
        return std::move(node.mapped());
      }
      last_was_timer_ = false;
      if (!tasks_.empty()) {
        Task task = std::move(tasks_.front());
        tasks_.pop_front();
        return task;
      }
      if (stopping_) return std::nullopt;
      if (timers_.empty()) {
        changed_.Wait(mutex_);
      } else if (!due) {
        changed_.WaitUntil(mutex_,
                           std::chrono::system_clock::now() + absl::ToChronoNanoseconds(std::min(left, kLongestWait)));
      }
    }
  }

  void Run() {
    while (std::optional<Task> task = Take()) (*task)();
  }

  const std::string name_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Task> tasks_ BASALT_GUARDED_BY(mutex_);
  std::map<std::pair<absl::Time, TimerId>, Task> timers_ BASALT_GUARDED_BY(mutex_);
  std::map<TimerId, absl::Time> when_ BASALT_GUARDED_BY(mutex_);
  TimerId next_id_ BASALT_GUARDED_BY(mutex_) = 1;
  bool last_was_timer_ BASALT_GUARDED_BY(mutex_) = false;
  bool stopping_ BASALT_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // Is the last member, since the thread uses everything above.
};

}  // namespace

std::unique_ptr<Loop> MakeThreadLoop(std::string name) { return std::make_unique<ThreadLoop>(std::move(name)); }

}  // namespace basalt
