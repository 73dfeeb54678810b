#pragma once

// The assignment in a ConfigMap beside the Lease: binaryData.assignment is the storage::v1::AssignmentRecord, and data
// describes it and its writer for people. Every write is a compare-and-swap. A write whose outcome is unknown is
// resolved by reading: a gateway recognises its own write by data.writer.
//
// There are two statuses beyond those of AssignmentStore: PERMISSION_DENIED if a right is missing, INTERNAL if the
// server refuses the write for another reason (a quota, an admission webhook). Both calls are to be tried again.
//
// Confined to the loop of the client, which must outlive the store.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "common/http/http.h"
#include "gateway/kube/kube_call.h"
#include "gateway/lead/assignment_store.h"

namespace basalt::gateway {

struct KubeAssignmentStoreOptions {
  std::string config_namespace = "default";
  std::string config_name = "basalt-gateway-assignment";
  std::string writer;  // Unique to this process.
  std::string user_agent = "basalt-gateway";
  absl::Duration timeout = absl::Seconds(3);  // The time limit of one request.
};

class KubeAssignmentStore : public AssignmentStore {
 public:
  KubeAssignmentStore(http::Client& client, KubeAssignmentStoreOptions options);
  ~KubeAssignmentStore() override;

  void Load(std::function<void(absl::StatusOr<std::optional<storage::v1::AssignmentRecord>>)> done) override;
  void Save(storage::v1::AssignmentRecord record, std::function<void(absl::Status)> done) override;
  // Drops the pending callback, which is not called any more. A request under way may still be carried out.
  void Cancel();

 private:
  using Loaded = std::function<void(absl::StatusOr<std::optional<storage::v1::AssignmentRecord>>)>;

  void OnLoaded(KubeAnswer answer, const Loaded& done);
  void Write();
  void OnWritten(KubeAnswer answer);
  // Reads the ConfigMap after a write was refused for its version or had no answer.
  void ConfirmSave(absl::Status otherwise);
  void OnConfirmed(KubeAnswer answer, const absl::Status& otherwise);
  void EndSave(absl::Status status);
  void Send(KubeCall call, std::function<void(KubeAnswer)> then);
  std::string Path(bool collection) const;
  std::string Name() const;

  http::Client& client_;
  const KubeAssignmentStoreOptions options_;

  std::optional<json::value> base_;  // The object that the next write replaces. Nullopt if the next write creates one.
  std::string bytes_;                // The serialized record of the save under way.
  json::value next_;
  std::function<void(absl::Status)> saved_;
  std::unique_ptr<http::Call> call_;
};

}  // namespace basalt::gateway
