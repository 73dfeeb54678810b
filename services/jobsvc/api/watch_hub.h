#pragma once

// Newest states of jobs for clients that watch: a subscriber that is slow gets fewer states, never older ones, and
// costs bounded memory. Thread-safe.
//
// A token is "<incarnation>.<revision>": known to this process only. Another incarnation, or one from which deletions
// have been forgotten, is answered by RESET and a snapshot.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "basalt/job/v1/job.pb.h"
#include "common/base/mutex.h"

namespace basalt::jobsvc {

class WatchHub {
 public:
  class Subscription {
   public:
    Subscription(std::string ns, std::string name) : ns_(std::move(ns)), name_(std::move(name)) {}
    bool Wants(std::string_view key) const {
      const size_t slash = key.find('/');
      if (!ns_.empty() && key.substr(0, slash) != ns_) return false;
      return name_.empty() || key.substr(slash + 1) == name_;
    }

   private:
    friend class WatchHub;
    const std::string ns_;
    const std::string name_;
    std::function<void()> notify_;  // There is something to Take; called once until it was taken.
    bool notified_ = false;
    bool reset_ = false;
    bool synced_ = false;  // The snapshot is complete.
    bool told_synced_ = false;
    absl::Status end_;
    int64_t revision_ = 0;  // Of the newest state that was handed out after the snapshot.
    std::map<std::string, job::v1::WatchJobsResponse> waiting_;  // By key: the newest only.
  };

  explicit WatchHub(std::string incarnation) : incarnation_(std::move(incarnation)) {}

  // A job changed: its new revision. `make` is called only if somebody watches; it must not call back.
  int64_t Publish(const std::string& key, const std::function<job::v1::Job()>& make) BASALT_EXCLUDES(mutex_);
  void PublishGone(const std::string& key, const job::v1::Job& last) BASALT_EXCLUDES(mutex_);

  // The states to be told from the start are those with a revision above `since` (-1: all).
  std::shared_ptr<Subscription> Subscribe(std::string ns, std::string name, const std::string& token,
                                          std::function<void()> notify, int64_t* since) BASALT_EXCLUDES(mutex_);
  // Part of the snapshot: not if something newer is waiting already.
  void Offer(const std::shared_ptr<Subscription>& subscription, const std::string& key, const job::v1::Job& job)
      BASALT_EXCLUDES(mutex_);
  // `complete`: why it is not, where it is not; then the subscription ends with that.
  void SnapshotDone(const std::shared_ptr<Subscription>& subscription, absl::Status complete) BASALT_EXCLUDES(mutex_);
  // Not ok: the subscription has ended, nothing more will come.
  absl::Status EndOf(const std::shared_ptr<Subscription>& subscription) const BASALT_EXCLUDES(mutex_);
  // False: nothing is waiting; `notify` will be called when there is.
  bool Take(const std::shared_ptr<Subscription>& subscription, job::v1::WatchJobsResponse* response)
      BASALT_EXCLUDES(mutex_);
  void Unsubscribe(const std::shared_ptr<Subscription>& subscription) BASALT_EXCLUDES(mutex_);

 private:
  struct Deleted {
    int64_t revision;
    std::string key;
    job::v1::Job last;
  };
  static constexpr size_t kMaxDeleted = 4096;

  std::string TokenOf(int64_t revision) const;
  static void Notify(Subscription& subscription);

  const std::string incarnation_;
  mutable Mutex mutex_;
  int64_t revision_ BASALT_GUARDED_BY(mutex_) = 1;
  int64_t forgotten_ BASALT_GUARDED_BY(mutex_) = 0;  // Deletions up to this revision are not remembered.
  std::deque<Deleted> deleted_ BASALT_GUARDED_BY(mutex_);
  std::set<std::shared_ptr<Subscription>> subscriptions_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::jobsvc
