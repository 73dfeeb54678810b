#pragma once

// The jobs that wait for a claim that somebody else has to create. Each claim has one interest (context_.AddInterest),
// however many jobs name it, from the first job that waits to the last. Lives on the controller's loop.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/runtime/controller.h"

namespace basalt::jobsvc {

inline constexpr std::string_view kClaims = "persistentvolumeclaims";

class ClaimWaits {
 public:
  // `context` outlives the object.
  explicit ClaimWaits(runtime::Context& context) : context_(context) {}

  // `job` is the key of a job in that namespace. Adding it once more does nothing.
  void Add(const std::string& ns, const std::string& claim, const std::string& job);
  void Remove(const std::string& ns, const std::string& claim, const std::string& job);
  // The claim is there: returns the jobs that waited for it, and removes them.
  std::set<std::string> Take(const std::string& ns, const std::string& claim);

 private:
  runtime::Context& context_;
  // By namespace and claim; no set is empty.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> jobs_;
};

}  // namespace basalt::jobsvc
