#pragma once

// Starts programs of the suite beside a real cluster and reads their pages, for the tests of rights and of bad input.
// Every wait for another process has a deadline. One thread.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"
#include "common/http/curl/curl_client.h"
#include "common/testing/temp_dir.h"
#include "dev/process_suite.h"
#include "tests/e2e/harness.h"
#include "tests/realkube/cluster.h"

namespace basalt::realkube {

// One target of /readyz. `state` is empty if there is no such target.
struct TargetView {
  bool ready = false;
  std::string state, since, why, cure;
};
TargetView TargetOf(const http::CurlOptions& server, std::string_view name);
// Returns all fields of a target as a text for failures.
std::string TextOf(const TargetView& target);

// A gateway without services and without TLS.
class RunningGateway {
 public:
  explicit RunningGateway(const std::string& kubeconfig, std::vector<std::string> flags = {});

  bool alive() { return !child_->Wait(absl::ZeroDuration()).has_value(); }
  TargetView Target(std::string_view name) const { return TargetOf(pages(), name); }
  std::string Readyz() const { return e2e::FetchText(pages(), "/readyz"); }
  std::string Metrics() const { return e2e::FetchText(pages(), "/metrics"); }
  // Waits until the target is in that state. Returns false after a minute.
  bool Reaches(std::string_view target, std::string_view state);

 private:
  http::CurlOptions pages() const;

  testing::TempDir dir_;
  const std::string port_file_;
  std::unique_ptr<e2e::Child> child_;
};

// Writes a kubeconfig for `server`. `cluster` ("certificate-authority: …") and `user` are YAML flow.
void WriteKubeconfig(const std::string& path, const std::string& server, const std::string& cluster,
                     const std::string& user);

}  // namespace basalt::realkube
