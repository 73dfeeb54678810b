#pragma once

// Objects that the API server took and that we cannot read in part: what is unreadable counts as absent and nothing
// waits for it, and the object says so itself. Counted as gateway_undecodable_total{watch,field}, logged, and told as
// an Event of the object; of a Job jobsvc tells it, with its own words.
//
// One Event for each object and text, under a name that follows from them, so that a restart repeats none. What cannot
// be written now, since another gateway leads or the server is away, waits until it can. Best effort: at most a bounded
// number is remembered. Confined to one loop.
#include <functional>
#include <map>
#include <set>
#include <string>

#include "common/obs/metrics.h"
#include "gateway/kube/kube_access.h"
#include "gateway/translate/decoder.h"

namespace basalt::gateway {

class Unreadable {
 public:
  // Both outlive it.
  Unreadable(KubeAccess& kube, obs::Metrics& metrics) : kube_(kube), metrics_(metrics) {}

  void Note(const std::string& watch, const Decoded& decoded) {
    if (!decoded.error.empty()) {
      Report(watch, decoded);
    } else if (!waiting_.empty()) {
      Forget(decoded);
    }
  }
  // Writes are possible: tells what waits.
  void LogWaiting();

 private:
  void Report(const std::string& watch, const Decoded& decoded);
  void Forget(const Decoded& decoded);
  void Send(const std::string& uid, const v1::WriteRequest& request);

  KubeAccess& kube_;
  obs::Metrics& metrics_;
  std::set<std::string> reported_;                                // Names of Events.
  std::map<std::string, v1::WriteRequest, std::less<>> waiting_;  // By the object's UID: what is wrong with it now.
};

// "spec.tasks[3].replicas: expected …; …" -> "spec.tasks": of which there are few, whatever users write.
std::string FieldOf(std::string_view error);

}  // namespace basalt::gateway
