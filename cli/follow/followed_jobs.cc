#include "cli/follow/followed_jobs.h"

#include <set>

#include "common/kube/object_key.h"

namespace basalt::cli {
namespace {

using Message = FollowedJobs::Message;

Message Gone(const std::string& key, const std::string& uid, uint32_t slot) {
  Message gone;
  gone.set_type(Message::TYPE_DELETED);
  gone.set_slot(slot);
  kube::v1::ObjectMeta& meta = *gone.mutable_job()->mutable_object()->mutable_meta();
  const auto [ns, name] = kube::SplitKey(key);
  meta.set_namespace_(std::string(ns));
  meta.set_name(std::string(name));
  meta.set_uid(uid);
  return gone;
}

}  // namespace

std::string KeyOf(const job::v1::Job& job) {
  return kube::ObjectKey(job.object().meta().namespace_(), job.object().meta().name());
}

std::vector<Message> FollowedJobs::TakeUnsure() {
  std::vector<Message> gone;
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    if (!job->second.unsure) {
      ++job;
      continue;
    }
    gone.push_back(Gone(job->first, job->second.uid, job->second.slot));
    job = jobs_.erase(job);
  }
  return gone;
}

std::vector<Message> FollowedJobs::Take(const Message& message) {
  ++messages_;
  if (!message.token().empty()) {
    token_ = message.token();
    token_message_ = messages_;
  }
  switch (message.type()) {
    case Message::TYPE_STATE:
      jobs_[KeyOf(message.job())] = {message.job().object().meta().uid(), message.slot(), messages_, false};
      return {};
    case Message::TYPE_DELETED:
      jobs_.erase(KeyOf(message.job()));
      return {message};
    case Message::TYPE_RESET: {
      const std::set<uint32_t> slots(message.slots().begin(), message.slots().end());
      for (auto& [key, told] : jobs_) told.unsure |= slots.contains(told.slot);
      return {};
    }
    case Message::TYPE_SYNCED:
      return TakeUnsure();
    default:
      return {};
  }
}

void FollowedJobs::Interrupted() {
  for (auto& [key, told] : jobs_) told.unsure |= told.message > token_message_;
}

}  // namespace basalt::cli
