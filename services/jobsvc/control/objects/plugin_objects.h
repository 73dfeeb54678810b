#pragma once

// The part of a job that makes the objects of its plugins before the first pod, and removes them once, with a full kill
// after which the job does not come back (plugin_object_removal.cc). Its state is lost with the process on purpose.
// Runs on the controller's loop.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/reconcile/effect.h"
#include "common/runtime/write_outcome.h"
#include "services/jobsvc/control/objects/made_objects.h"
#include "services/jobsvc/core/explain/problems.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class PluginObjects {
 public:
  // Takes over the objects and claims in the status, once. Requires a status that is not doubted.
  void Load(JobEntry& entry);
  // Expects the objects of the spec, as far as the phase has the job make them: they may be there from here on. No
  // object is made before the status names it, since the next process looks only for objects that are named.
  void Expect(const JobEntry& entry);
  // Makes missing objects and claims, and patches outdated objects. In phases without pods, removes the objects.
  void Apply(JobEntry& entry, PartHost& host);

  const MadeObjects& made() const { return made_; }
  // True if every object is there and current, and every claim is there.
  bool IsReady(const JobEntry& entry) const;
  // Returns the markers of plugins and claims in controlledResources (job spec 11.1, 9.9).
  std::map<std::string, std::string> Markers(const JobEntry& entry) const;
  // True if pods wait for writes under way. An object that is refused holds up no pods.
  bool HoldsPods() const { return !effects_.empty() && !effects_.retry().since(); }

  // ---- for Claims, which shares the back-off and the names under way ----
  EffectSet& effects() { return effects_; }
  // One object or claim is there. Others may still be refused, and share the pause between tries.
  void IsThere(JobEntry& entry, std::string_view reason, std::string_view subject);
  // A create of an object or claim has failed: reports the problem if users are to know of it.
  void ReportRefusal(JobEntry& entry, const runtime::WriteOutcome& outcome, Problem problem, PartHost& host) const;

  // The spec has changed: the next try is due at once.
  void TryNow() { effects_.retry().Succeed(); }
  const Retry& retry() const { return effects_.retry(); }

 private:
  void Ensure(JobEntry& entry, const WantedObject& object, PartHost& host);
  void Make(JobEntry& entry, const WantedObject& object, PartHost& host);
  void Create(JobEntry& entry, const WantedObject& object, std::string json, PartHost& host);
  void Created(JobEntry& entry, const WantedObject& object, const runtime::WriteOutcome& outcome, PartHost& host);
  // Why an object is read.
  struct Look {
    bool after_create = false;  // A create was refused because the name is taken.
    int64_t outdated = 0;       // The version that a patch named, if it met another one.
  };
  void Compare(JobEntry& entry, const WantedObject& object, Look look, PartHost& host);
  void Compared(JobEntry& entry, const WantedObject& object, Look look,
                const absl::StatusOr<gateway::v1::GetResponse>& response, PartHost& host);
  void Patch(JobEntry& entry, const WantedObject& object, const std::string& object_uid, int64_t resource_version,
             PartHost& host);
  void GiveUp(JobEntry& entry, const std::string& key, PartHost& host);

  void RemoveAll(JobEntry& entry, PartHost& host);
  void FindAndDelete(JobEntry& entry, const std::string& key, PartHost& host);
  void Delete(JobEntry& entry, const std::string& key, const std::string& object_uid, PartHost& host);
  void Deleted(JobEntry& entry, const std::string& key, const runtime::WriteOutcome& outcome, PartHost& host);
  void IsGone(const std::string& key);

  MadeObjects made_;  // The objects in the status, and those that this process has made since.
  bool is_loaded_ = false;
  EffectSet effects_;  // By the keys of `made_`.
};

}  // namespace basalt::jobsvc
