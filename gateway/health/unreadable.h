#pragma once

// Reports objects that the API server accepted and that the gateway cannot read in part. An unreadable field counts as
// absent, and nothing waits for it. The object is counted as basalt_gateway_undecodable_total{watch,field} and logged,
// and an Event of the object reports the field. jobsvc writes the Events of Jobs, with its own texts.
//
// There is one Event for each object and text, under a name that follows from them, so that a restart repeats none. An
// Event that cannot be written now, since another gateway leads or the server is away, waits until it can. Best effort:
// only a bounded number of Events is remembered. Confined to one loop.
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
  // Both references must outlive this object.
  Unreadable(KubeAccess& kube, obs::Metrics& metrics) : kube_(kube), metrics_(metrics) {}

  void Note(const std::string& watch, const Decoded& decoded) {
    if (!decoded.error.empty()) {
      Report(watch, decoded);
    } else if (!waiting_.empty()) {
      Forget(decoded);
    }
  }
  // Writes the Events that wait. To be called when writes are possible again.
  void LogWaiting();

 private:
  void Report(const std::string& watch, const Decoded& decoded);
  void Forget(const Decoded& decoded);
  void Send(const std::string& uid, const v1::WriteRequest& request);

  KubeAccess& kube_;
  obs::Metrics& metrics_;
  std::set<std::string> reported_;                                // The names of the Events that were reported.
  std::map<std::string, v1::WriteRequest, std::less<>> waiting_;  // The Events that wait, by the object's UID.
};

// Returns "spec.tasks" for "spec.tasks[3].replicas: expected …; …". There are few such fields, whatever users write.
std::string FieldOf(std::string_view error);

}  // namespace basalt::gateway
