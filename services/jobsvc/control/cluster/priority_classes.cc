#include "services/jobsvc/control/cluster/priority_classes.h"

namespace basalt::jobsvc {

std::vector<std::string> PriorityClasses::Receive(const kube::v1::PriorityClass& priority_class, bool gone) {
  const std::string& name = priority_class.meta().name();
  const int32_t before = ValueOf(name);
  if (gone) {
    values_.erase(name);
  } else {
    values_[name] = priority_class.value();
  }
  const auto jobs = jobs_.find(name);
  if (ValueOf(name) == before || jobs == jobs_.end()) return {};
  return {jobs->second.begin(), jobs->second.end()};
}

int32_t PriorityClasses::ValueFor(const std::string& job, std::string_view name) {
  jobs_[std::string(name)].insert(job);
  names_[job].emplace(name);
  return ValueOf(name);
}

void PriorityClasses::DropJob(const std::string& job) {
  const auto names = names_.find(job);
  if (names == names_.end()) return;
  for (const std::string& name : names->second) {
    const auto jobs = jobs_.find(name);
    jobs->second.erase(job);
    if (jobs->second.empty()) jobs_.erase(jobs);
  }
  names_.erase(names);
}

int32_t PriorityClasses::ValueOf(std::string_view name) const {
  const auto value = values_.find(name);
  return value == values_.end() ? 0 : value->second;
}

}  // namespace basalt::jobsvc
