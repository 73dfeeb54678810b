#pragma once

// Keeps the assignment between leaders (correctness 5): it is written by compare-and-swap before it is used. Callbacks
// come on the gateway's loop, never before the call returns, and not after the store is destroyed.
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/storage/v1/storage.pb.h"
#include "common/exec/loop.h"

namespace basalt::gateway {

class AssignmentStore {
 public:
  virtual ~AssignmentStore() = default;
  // Reads the record; nullopt if there is none yet. DATA_LOSS if the record cannot be read (and is not overwritten).
  virtual void Load(std::function<void(absl::StatusOr<std::optional<storage::v1::AssignmentRecord>>)> done) = 0;
  // Replaces the record that this process has loaded or saved last. Requires: a Load or Save has succeeded, and none is
  // under way. ABORTED: another process has written the record since, so this gateway must not go on as leader.
  // UNAVAILABLE and UNKNOWN: try again; a save that had already been carried out is then found and counts as done.
  virtual void Save(storage::v1::AssignmentRecord record, std::function<void(absl::Status)> done) = 0;
};

// For a gateway that is alone: the store keeps the record in memory only, and the next gateway learns from the
// replicas.
class MemoryAssignmentStore final : public AssignmentStore {
 public:
  explicit MemoryAssignmentStore(Loop& loop) : loop_(loop) {}
  ~MemoryAssignmentStore() override { *alive_ = false; }
  void Load(std::function<void(absl::StatusOr<std::optional<storage::v1::AssignmentRecord>>)> done) override {
    loop_.Post([this, alive = alive_, done = std::move(done)] {
      if (*alive) done(saved_);
    });
  }
  void Save(storage::v1::AssignmentRecord record, std::function<void(absl::Status)> done) override {
    saved_ = std::move(record);
    loop_.Post([alive = alive_, done = std::move(done)] {
      if (*alive) done(absl::OkStatus());
    });
  }

 private:
  Loop& loop_;
  std::optional<storage::v1::AssignmentRecord> saved_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace basalt::gateway
