#pragma once

// What a watch has told of jobs (WatchJobs in basalt/job/v1/job.proto): which there are, and which of them went unseen.
// Pure. Of slots that were RESET the jobs that are not told again before SYNCED are gone.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "basalt/job/v1/job.pb.h"

namespace basalt::cli {

// "namespace/name".
std::string KeyOf(const job::v1::Job& job);

class ToldJobs {
 public:
  using Message = job::v1::WatchJobsResponse;

  // The jobs that are gone with this message, each as DELETED tells of it.
  std::vector<Message> Take(const Message& message);

  const std::string& token() const { return token_; }
  bool empty() const { return jobs_.empty(); }

 private:
  struct Told {
    std::string uid;
    uint32_t slot = 0;
    bool unsure = false;  // Until it is told again.
  };
  std::vector<Message> TakeUnsure();

  std::map<std::string, Told> jobs_;  // By key.
  std::string token_;
};

}  // namespace basalt::cli
