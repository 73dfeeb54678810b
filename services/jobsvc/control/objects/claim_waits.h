#pragma once

// Which jobs wait for a claim that somebody else has to make: one interest in each claim (context_.AddInterest),
// however many jobs name it, from the first that waits to the last. On the controller's loop.
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
  // `context` outlives it.
  explicit ClaimWaits(runtime::Context& context) : context_(context) {}

  // `job`: the key of a job in that namespace. Again: nothing.
  void Add(const std::string& ns, const std::string& claim, const std::string& job);
  void Remove(const std::string& ns, const std::string& claim, const std::string& job);
  // The claim is there: those that waited for it, and do so no more.
  std::set<std::string> Take(const std::string& ns, const std::string& claim);

 private:
  runtime::Context& context_;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> jobs_;  // By namespace and claim; never none.
};

}  // namespace basalt::jobsvc
