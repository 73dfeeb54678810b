#pragma once

// The assignment in a ConfigMap beside the Lease: binaryData.assignment is the storage::v1::AssignmentRecord, data says
// to people what is in it and who wrote it. Every write is a compare-and-swap; one whose outcome is unknown is settled
// by reading: data.writer tells a gateway its own.
//
// Beyond what AssignmentStore says: PERMISSION_DENIED where a right is missing, INTERNAL where the server refuses it
// for another reason (a quota, an admission webhook): both to be tried again.
//
// Confined to the loop of the client, which outlives it.
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
  absl::Duration timeout = absl::Seconds(3);  // Of one request.
};

class KubeAssignmentStore : public AssignmentStore {
 public:
  KubeAssignmentStore(http::Client& client, KubeAssignmentStoreOptions options);
  ~KubeAssignmentStore() override;

  void Load(std::function<void(absl::StatusOr<std::optional<storage::v1::AssignmentRecord>>)> done) override;
  void Save(storage::v1::AssignmentRecord record, std::function<void(absl::Status)> done) override;
  // Forgets whoever waits: they hear nothing more. What was under way may still come about.
  void Cancel();

 private:
  using Loaded = std::function<void(absl::StatusOr<std::optional<storage::v1::AssignmentRecord>>)>;

  void OnLoaded(KubeAnswer answer, const Loaded& done);
  void Write();
  void OnWritten(KubeAnswer answer);
  // Reads what is there after a refusal for its version, or after no answer.
  void ConfirmSave(absl::Status otherwise);
  void OnConfirmed(KubeAnswer answer, const absl::Status& otherwise);
  void EndSave(absl::Status status);
  void Send(KubeCall call, std::function<void(KubeAnswer)> then);
  std::string Path(bool collection) const;
  std::string Name() const;

  http::Client& client_;
  const KubeAssignmentStoreOptions options_;

  std::optional<json::value> base_;  // The object that the next write replaces; none: it makes one.
  std::string bytes_;                // Of the save under way.
  json::value next_;
  std::function<void(absl::Status)> saved_;
  std::unique_ptr<http::Call> call_;
};

}  // namespace basalt::gateway
