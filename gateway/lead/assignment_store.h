#pragma once

// Where the assignment is kept between leaders (correctness 5): written by compare-and-swap before it is used.
// Callbacks come on the gateway's loop, never before the call returns, and not after the store is destroyed.
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
  // What is there: nullopt where there is nothing yet. DATA_LOSS: it cannot be read (and is not overwritten).
  virtual void Load(std::function<void(absl::StatusOr<std::optional<storage::v1::AssignmentRecord>>)> done) = 0;
  // Replaces what this process has loaded or saved last. Requires: a Load or Save that succeeded; none under way.
  // ABORTED: somebody else has written it since: this gateway must not go on as leader. UNAVAILABLE and UNKNOWN: again;
  // one that had been carried out already is then found and taken for done.
  virtual void Save(storage::v1::AssignmentRecord record, std::function<void(absl::Status)> done) = 0;
};

// Of a gateway that is alone: it keeps what it has saved itself, and its replicas tell the next one.
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
