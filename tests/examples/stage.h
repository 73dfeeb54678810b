#pragma once

// Runs one example on the whole suite under simulated time: submits the job as basaltctl does, types the commands of
// its promise, follows the job to its end, and checks the promise. For one thread.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "common/http/direct_client.h"
#include "tests/examples/promise.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::examples {

class Stage {
 public:
  Stage();

  // Returns one sentence for each broken promise.
  std::vector<std::string> Run(std::string_view yaml, const Promise& promise);

 private:
  // Returns the refusal of a job of this queue, or OK.
  absl::Status CheckQueue(const std::string& name);
  absl::Status Submit(std::string_view yaml);
  absl::Status Type(const Step& step);
  absl::Status TypeToBasaltctl(const std::vector<std::string>& words);
  absl::Status Scale(const std::vector<std::string>& words);
  absl::Status Send(std::string method, std::string path, std::string body, std::string_view content_type);
  // Returns "" before the job has a phase, and Deleted once the job is gone.
  std::string Phase() const;
  void Check(const Promise& promise, absl::Duration lasted);
  void CheckLog(const Promise& promise);
  void Complain(std::string what) { complaints_.push_back(std::move(what)); }

  simulation::SimSuite suite_;
  SimLoop loop_;
  http::DirectClient client_;
  std::string name_, uid_;
  json::value last_;  // The job's last state.
  std::vector<std::string> complaints_;
};

}  // namespace basalt::examples
