#pragma once

// The stored records of the pods of one job beside the job's own record: a PodRecord for each pod that is there, and
// the facts that must outlast a pod that is gone (correctness 3). Lives on the controller's loop.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "common/kv/kv_store.h"
#include "services/jobsvc/core/pods/pod_set.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

// Returns the pod as the record describes it.
kube::v1::Pod PodFromRecord(std::string_view name, const JobEntry& entry, const storage::v1::PodRecord& record);

class PodRecords {
 public:
  // Takes in a pod that was found in the store.
  void RestoreEnded(const storage::v1::EndedPod& pod) { ended_.emplace(pod.uid(), pod.version()); }

  // Writes the record that a change of the pod leaves in the store. `pod` is the newest state of the pod; null if the
  // pod is gone.
  void Store(const JobEntry& entry, const PodChange& change, const kube::v1::Pod* pod, PartHost& host,
             kv::WriteBatch& batch);

  // True for a pod that succeeded and is gone, and whose success the status does not report yet. The record stays until
  // the status does: a process that starts on this disk cannot learn from anything else that the work is done (W19).
  bool IsUnreportedSuccess(std::string_view name) const { return unreported_.contains(name); }
  // Drops the records of unreported successes that the status reports by now, or whose work is to be done again. Drops
  // all of them if another controller has ended the job: nobody will ever report them.
  void DropReported(const JobEntry& entry, kv::WriteBatch& batch);
  void DropUnreported(const JobEntry& entry, kv::WriteBatch& batch);

  // True for a pod that is gone and of which a policy has answered an event. Nothing follows if its end is announced
  // once more.
  bool HasEnded(std::string_view uid) const { return ended_.contains(uid); }
  void KeepEnded(const JobEntry& entry, const PodEntry& pod, kv::WriteBatch& batch);
  void DropEnded(const JobEntry& entry, kv::WriteBatch& batch);
  // After a change of the status: drops the ended pods of versions before the present one; if the job is finished, all
  // of them.
  void DropOutdatedEnded(const JobEntry& entry, kv::WriteBatch& batch);

  // Drops the records of all pods of the job, whether they are there or not.
  void DropAll(const JobEntry& entry, kv::WriteBatch& batch);

 private:
  void DropEndedBefore(const JobEntry& entry, int32_t version, kv::WriteBatch& batch);

  std::set<std::string, std::less<>> unreported_;      // Names of pods.
  std::map<std::string, int32_t, std::less<>> ended_;  // UID -> version. Each pod has an EndedPod in the store.
};

}  // namespace basalt::jobsvc
