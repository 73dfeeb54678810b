#include "services/jobsvc/api/watch_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace basalt::jobsvc {

using job::v1::WatchJobsResponse;

std::string WatchHub::TokenOf(int64_t revision) const { return fmt::format("{}.{}", incarnation_, revision); }

void WatchHub::Notify(Subscription& subscription) {
  if (subscription.notified_) return;
  subscription.notified_ = true;
  subscription.notify_();
}

int64_t WatchHub::Publish(const std::string& key, const std::function<job::v1::Job()>& make) {
  MutexLock lock(mutex_);
  const int64_t revision = ++revision_;
  std::optional<job::v1::Job> job;
  for (const auto& subscription : subscriptions_) {
    if (!subscription->Wants(key)) continue;
    if (!job) job = make();
    WatchJobsResponse& waiting = subscription->waiting_[key];
    waiting.set_type(WatchJobsResponse::TYPE_STATE);
    *waiting.mutable_job() = *job;
    Notify(*subscription);
  }
  return revision;
}

void WatchHub::PublishGone(const std::string& key, const job::v1::Job& last) {
  MutexLock lock(mutex_);
  const int64_t revision = ++revision_;
  deleted_.push_back({revision, key, last});
  if (deleted_.size() > kMaxDeleted) {
    forgotten_ = deleted_.front().revision;
    deleted_.pop_front();
  }
  for (const auto& subscription : subscriptions_) {
    if (!subscription->Wants(key)) continue;
    WatchJobsResponse& waiting = subscription->waiting_[key];
    waiting.set_type(WatchJobsResponse::TYPE_DELETED);
    *waiting.mutable_job() = last;
    Notify(*subscription);
  }
}

std::shared_ptr<WatchHub::Subscription> WatchHub::Subscribe(std::string ns, std::string name, const std::string& token,
                                                            std::function<void()> notify, int64_t* since) {
  auto subscription = std::make_shared<Subscription>(std::move(ns), std::move(name));
  subscription->notify_ = std::move(notify);
  MutexLock lock(mutex_);
  *since = -1;
  if (!token.empty()) {
    const size_t dot = token.rfind('.');
    int64_t revision = -1;
    if (dot != std::string::npos) std::from_chars(token.data() + dot + 1, token.data() + token.size(), revision);
    const bool known = dot != std::string::npos && token.substr(0, dot) == incarnation_ && revision >= forgotten_ &&
                       revision <= revision_;
    if (known) {
      *since = revision;
      for (const Deleted& deleted : deleted_) {
        if (deleted.revision <= revision || !subscription->Wants(deleted.key)) continue;
        WatchJobsResponse& waiting = subscription->waiting_[deleted.key];
        waiting.set_type(WatchJobsResponse::TYPE_DELETED);
        *waiting.mutable_job() = deleted.last;
      }
    } else {
      subscription->reset_ = true;
    }
  }
  // What changes from here on is told twice at worst, after a resume from a token of the snapshot: never missed.
  subscription->revision_ = revision_;
  subscriptions_.insert(subscription);
  return subscription;
}

void WatchHub::Offer(const std::shared_ptr<Subscription>& subscription, const std::string& key,
                     const job::v1::Job& job) {
  MutexLock lock(mutex_);
  if (!subscription->Wants(key)) return;
  const auto found = subscription->waiting_.find(key);
  // A deletion that is waiting was of the job before this one; a state that is waiting is newer.
  if (found != subscription->waiting_.end() && found->second.type() == WatchJobsResponse::TYPE_STATE) return;
  WatchJobsResponse& waiting = subscription->waiting_[key];
  waiting.set_type(WatchJobsResponse::TYPE_STATE);
  *waiting.mutable_job() = job;
  Notify(*subscription);
}

void WatchHub::SnapshotDone(const std::shared_ptr<Subscription>& subscription, absl::Status complete) {
  MutexLock lock(mutex_);
  subscription->synced_ = complete.ok();
  subscription->end_ = std::move(complete);
  Notify(*subscription);
}

absl::Status WatchHub::EndOf(const std::shared_ptr<Subscription>& subscription) const {
  MutexLock lock(mutex_);
  return subscription->end_;
}

bool WatchHub::Take(const std::shared_ptr<Subscription>& subscription, WatchJobsResponse* response) {
  MutexLock lock(mutex_);
  Subscription& s = *subscription;
  if (s.reset_) {
    s.reset_ = false;
    response->set_type(WatchJobsResponse::TYPE_RESET);
    return true;
  }
  if (!s.waiting_.empty()) {
    *response = std::move(s.waiting_.begin()->second);
    s.waiting_.erase(s.waiting_.begin());
    // While others wait, a token would skip them: only the last one of a run carries it.
    if (!s.told_synced_ || !s.waiting_.empty()) {
      response->clear_token();
    } else {
      response->set_token(TokenOf(revision_));
    }
    return true;
  }
  if (s.synced_ && !s.told_synced_) {
    s.told_synced_ = true;
    response->set_type(WatchJobsResponse::TYPE_SYNCED);
    response->set_token(TokenOf(s.revision_));
    return true;
  }
  s.notified_ = false;
  return false;
}

void WatchHub::Unsubscribe(const std::shared_ptr<Subscription>& subscription) {
  MutexLock lock(mutex_);
  subscriptions_.erase(subscription);
}

}  // namespace basalt::jobsvc
