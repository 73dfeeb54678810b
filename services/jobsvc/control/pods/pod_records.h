#pragma once

// What is stored of the pods of one job beside the job's own record: a PodRecord for each that is there, and what must
// outlast a pod that is gone (correctness 3). On the controller's loop.
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

// The pod as the record tells of it.
kube::v1::Pod PodFromRecord(std::string_view name, const JobEntry& entry, const storage::v1::PodRecord& record);

class PodRecords {
 public:
  // As it was found in the store.
  void RestoreEnded(const storage::v1::EndedPod& pod) { ended_.emplace(pod.uid(), pod.version()); }

  // What a change of the pod leaves in the store. `pod`: its newest state; null: it is gone.
  void Store(const JobEntry& entry, const PodChange& change, const kube::v1::Pod* pod, PartHost& host,
             kv::WriteBatch& batch);

  // Pods that succeeded and are gone, of which the status does not tell yet: their records stay until it does, since
  // whoever starts on this disk learns from nothing else that their work is done (W19).
  bool IsUnreportedSuccess(std::string_view name) const { return unreported_.contains(name); }
  // Drops the records of those that the status tells of or that are to be done again, and all of them where another
  // controller has ended the job: nobody will ever tell of them.
  void DropReported(const JobEntry& entry, kv::WriteBatch& batch);
  void DropUnreported(const JobEntry& entry, kv::WriteBatch& batch);

  // Pods that are gone and of which a policy has answered an event: when their end is told once more, nothing follows.
  bool HasEnded(std::string_view uid) const { return ended_.contains(uid); }
  void KeepEnded(const JobEntry& entry, const PodEntry& pod, kv::WriteBatch& batch);
  void DropEnded(const JobEntry& entry, kv::WriteBatch& batch);
  // After a change of the status: drops those of versions before the present one, and of a job that is finished all.
  void DropOutdatedEnded(const JobEntry& entry, kv::WriteBatch& batch);

  // Of all pods of the job, whether they are there or not.
  void DropAll(const JobEntry& entry, kv::WriteBatch& batch);

 private:
  void DropEndedBefore(const JobEntry& entry, int32_t version, kv::WriteBatch& batch);

  std::set<std::string, std::less<>> unreported_;      // Names.
  std::map<std::string, int32_t, std::less<>> ended_;  // UID -> version; each has an EndedPod in the store.
};

}  // namespace basalt::jobsvc
