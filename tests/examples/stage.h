#pragma once

// One example on the whole suite under simulated time: submitted as basaltctl does, followed to its end while somebody
// types what it says, and held to what it promises. For one thread.
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

  // Everything in which the file does not do what it promises, one sentence each.
  std::vector<std::string> Run(std::string_view yaml, const Promise& promise);

 private:
  // The refusal, if it is one.
  absl::Status CheckQueue(const std::string& name);
  absl::Status Submit(std::string_view yaml);
  absl::Status Type(const Step& step);
  absl::Status TypeToBasaltctl(const std::vector<std::string>& words);
  absl::Status Scale(const std::vector<std::string>& words);
  absl::Status Send(std::string method, std::string path, std::string body, std::string_view content_type);
  // "" before it has one, Deleted once it is gone.
  std::string Phase() const;
  void Judge(const Promise& promise, absl::Duration lasted);
  void JudgeLog(const Promise& promise);
  void Complain(std::string what) { complaints_.push_back(std::move(what)); }

  simulation::SimSuite suite_;
  SimLoop loop_;
  http::DirectClient client_;
  std::string name_, uid_;
  json::value last_;  // The job as it was last.
  std::vector<std::string> complaints_;
};

}  // namespace basalt::examples
