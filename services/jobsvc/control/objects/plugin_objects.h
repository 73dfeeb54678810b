#pragma once

// The part of a job that makes the objects of its plugins before the first pod, and removes them once with a full kill
// that does not come back (plugin_object_removal.cc). Lost with the process on purpose. On the controller's loop.
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
  // Takes over what the status remembers of objects and claims, once; of a status that is not doubted.
  void Load(JobEntry& entry);
  // The objects of the spec may be there from here on, as far as the phase has the job make them. None is made before
  // the status names it: the next process looks for those that are named.
  void Expect(const JobEntry& entry);
  // Makes what is missing, and patches what is to be changed; the claims, too. Or removes what is there.
  void Apply(JobEntry& entry, PartHost& host);

  const MadeObjects& made() const { return made_; }
  // Every object and every claim is there.
  bool IsReady(const JobEntry& entry) const;
  // What controlledResources is to say of plugins and claims (job spec 11.1, 9.9).
  std::map<std::string, std::string> Markers(const JobEntry& entry) const;
  // Writes are under way that pods wait for. An object that is refused holds none.
  bool HoldsPods() const { return !effects_.empty() && !effects_.retry().since(); }

  // ---- for Claims, which shares the back-off and the names under way ----
  EffectSet& effects() { return effects_; }
  // One of them is: others may be refused still, and have the same pause between their tries.
  void IsThere(JobEntry& entry, std::string_view reason, std::string_view subject);
  // A create of one of them has failed.
  void ReportRefusal(JobEntry& entry, const runtime::WriteOutcome& outcome, Problem problem, PartHost& host) const;

  // The spec is another one: nothing is waited for.
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
    int64_t outdated = 0;       // A patch that named this version has met another one.
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

  MadeObjects made_;  // Plus what this process has made since.
  bool is_loaded_ = false;
  EffectSet effects_;  // By key, as in `made_`.
};

}  // namespace basalt::jobsvc
