#pragma once

// Ssh without passwords between the pods of a job (job spec 11.5). Keys outlive restarts: the Secret is made once (W3).
#include <cstdint>
#include <string>

#include "services/jobsvc/core/plugins/plugin.h"

namespace basalt::jobsvc {

class SshPlugin : public Plugin {
 public:
  std::string_view Name() const override { return "ssh"; }
  std::string_view Summary() const override {
    return "Lets the pods of a job log in to each other without a password.";
  }
  // Returns the Secret. If hosts or port change, only its `config` is patched: running pods keep keys that still fit.
  std::vector<WantedObject> Objects(const JobView& job) const override;
  absl::Status OnPod(PodEdit& pod) const override;
  std::vector<std::string> Doubts(const JobView& job) const override;
  // Returns the folder in which every container finds the keys.
  const std::string& key_file_path() const { return key_file_path_; }

 protected:
  void Define(Arguments& arguments) override;

 private:
  std::string key_file_path_ = "/root/.ssh";
  std::string private_key_;
  std::string public_key_;
  int64_t port_ = 22;
};

}  // namespace basalt::jobsvc
