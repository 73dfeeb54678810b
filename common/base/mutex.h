#pragma once

// An annotated wrapper round std::mutex: clang checks the annotations, TSan understands the lock.
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define BASALT_TSA(x) __attribute__((x))
#else
#define BASALT_TSA(x)
#endif
#define BASALT_GUARDED_BY(m) BASALT_TSA(guarded_by(m))
#define BASALT_REQUIRES(...) BASALT_TSA(requires_capability(__VA_ARGS__))
#define BASALT_EXCLUDES(...) BASALT_TSA(locks_excluded(__VA_ARGS__))

namespace basalt {

class BASALT_TSA(capability("mutex")) Mutex {
 public:
  void Lock() BASALT_TSA(acquire_capability()) { mutex_.lock(); }
  void Unlock() BASALT_TSA(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class BASALT_TSA(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) BASALT_TSA(acquire_capability(mutex)) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() BASALT_TSA(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  // Requires the lock, and releases the lock while waiting.
  void Wait(Mutex& mutex) BASALT_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // Returns false if `until` came before a notification.
  template <typename Clock, typename Duration>
  bool WaitUntil(Mutex& mutex, std::chrono::time_point<Clock, Duration> until) BASALT_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool notified = condition_.wait_until(lock, until) == std::cv_status::no_timeout;
    lock.release();
    return notified;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace basalt
