#pragma once

// Programs of the suite beside a real cluster, as the tests on rights and on bad input start and ask them. Everything
// across processes is waited for with a deadline. One thread.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"
#include "common/testing/temp_dir.h"
#include "dev/process_suite.h"
#include "tests/e2e/harness.h"
#include "tests/realkube/cluster.h"

namespace basalt::realkube {

// The body of a GET over plain HTTP on loopback; empty where there is none.
std::string FetchText(const std::string& port_file, const std::string& path);

// One target of /readyz; no state where there is no such target.
struct TargetView {
  bool ready = false;
  std::string state, since, why, cure;
};
TargetView TargetOf(const std::string& port_file, std::string_view name);
// A target with its words, for failures.
std::string TextOf(const TargetView& target);

// The gateway alone.
class RunningGateway {
 public:
  explicit RunningGateway(const std::string& kubeconfig, std::vector<std::string> flags = {});

  bool alive() { return !child_->Wait(absl::ZeroDuration()).has_value(); }
  TargetView Target(std::string_view name) const { return TargetOf(port_file_, name); }
  std::string Readyz() const { return FetchText(port_file_, "/readyz"); }
  std::string Metrics() const { return FetchText(port_file_, "/metrics"); }
  // Until the target is in that state; false after a minute.
  bool Reaches(std::string_view target, std::string_view state);

 private:
  testing::TempDir dir_;
  const std::string port_file_;
  std::unique_ptr<e2e::Child> child_;
};

// A kubeconfig for `server` with the parts given as YAML flow: `cluster` ("certificate-authority: …"), `user`.
void WriteKubeconfig(const std::string& path, const std::string& server, const std::string& cluster,
                     const std::string& user);

}  // namespace basalt::realkube
