#pragma once

// The priority classes of the cluster as one worker knows them, and the jobs that use the value of each. A change of a
// class costs only as much as its own jobs. Pure; confined to the worker's loop.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::jobsvc {

class PriorityClasses {
 public:
  // Takes in a state of a class, or the last one of a class that is gone. Returns the keys of the jobs that use its
  // value, if the value has changed.
  std::vector<std::string> Receive(const kube::v1::PriorityClass& priority_class, bool gone);
  // Returns the value of the class of that name, which `job` uses from here on; 0 if there is no such class.
  int32_t ValueFor(const std::string& job, std::string_view name);
  // Forgets which classes the job uses.
  void DropJob(const std::string& job);

 private:
  int32_t ValueOf(std::string_view name) const;

  std::map<std::string, int32_t, std::less<>> values_;              // Values by the name of the class.
  std::map<std::string, std::set<std::string>, std::less<>> jobs_;  // Keys of jobs, by the class; no set is empty.
  std::map<std::string, std::set<std::string>> names_;              // Names of classes, by the job; no set is empty.
};

}  // namespace basalt::jobsvc
