#pragma once

// Objects that the API server took and that we cannot read in part: what is unreadable counts as absent and nothing
// waits for it, and the object says so itself. Counted as gateway_undecodable_total{watch,field}, logged, and told as
// an Event of the object; of a Job jobsvc tells it, with its own words.
//
// One Event for each object and text, under a name that follows from them, so that a restart repeats none. Best effort:
// at most a bounded number is remembered and sent. Confined to one loop.
#include <cstddef>
#include <memory>
#include <set>
#include <string>

#include "common/obs/metrics.h"
#include "gateway/server/kube_access.h"
#include "gateway/translate/decoder.h"

namespace basalt::gateway {

class Unreadable {
 public:
  // Both outlive it.
  Unreadable(KubeAccess& kube, obs::Metrics& metrics) : kube_(kube), metrics_(metrics) {}

  void Note(const std::string& watch, const Decoded& decoded) {
    if (!decoded.error.empty()) Tell(watch, decoded);
  }

 private:
  void Tell(const std::string& watch, const Decoded& decoded);

  KubeAccess& kube_;
  obs::Metrics& metrics_;
  std::set<std::string> told_;  // Names of Events.
};

// "spec.tasks[3].replicas: expected …; …" -> "spec.tasks": of which there are few, whatever users write.
std::string FieldOf(std::string_view error);

}  // namespace basalt::gateway
