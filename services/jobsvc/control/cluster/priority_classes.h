#pragma once

// The priority classes of the cluster as the jobs of one worker see them, and which jobs asked for the value of each,
// so that a change of a class costs what its own jobs cost. Pure; confined to the worker's loop.
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
  // A state of a class, or the last one of a class that is gone. Returns the keys of the jobs that asked for its value,
  // if that is another now.
  std::vector<std::string> Receive(const kube::v1::PriorityClass& priority_class, bool gone);
  // The value of the class of that name, which `job` asks for; 0: there is none.
  int32_t ValueFor(const std::string& job, std::string_view name);
  // The job asks anew, or is forgotten.
  void DropJob(const std::string& job);

 private:
  int32_t ValueOf(std::string_view name) const;

  std::map<std::string, int32_t, std::less<>> values_;              // By the name of the class.
  std::map<std::string, std::set<std::string>, std::less<>> jobs_;  // Keys, by the class; never empty.
  std::map<std::string, std::set<std::string>> names_;              // Of classes, by the job; never empty.
};

}  // namespace basalt::jobsvc
