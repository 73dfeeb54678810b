#pragma once

// What a watch has told of jobs, over interruptions: which there are, and which of them went unseen. Pure.
//
// A watch goes on by its newest token (WatchJobs in basalt/job/v1/job.proto). What was told after that is told again
// where it is still there; its deletion may not be told. So what is not told again before SYNCED is gone, as are the
// jobs of slots that were RESET.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "basalt/job/v1/job.pb.h"

namespace basalt::cli {

// "namespace/name".
std::string KeyOf(const job::v1::Job& job);

class FollowedJobs {
 public:
  using Message = job::v1::WatchJobsResponse;

  // The jobs that are gone with this message, each as DELETED tells of it.
  std::vector<Message> Take(const Message& message);
  // The stream has ended; another goes on by token().
  void Interrupted();

  const std::string& token() const { return token_; }
  bool empty() const { return jobs_.empty(); }

 private:
  struct Told {
    std::string uid;
    uint32_t slot = 0;
    int64_t message = 0;  // The last of it.
    bool unsure = false;  // Until it is told again.
  };
  std::vector<Message> TakeUnsure();

  std::map<std::string, Told> jobs_;  // By key.
  int64_t messages_ = 0;              // So far.
  std::string token_;
  int64_t token_message_ = 0;  // The one that brought it.
};

}  // namespace basalt::cli
