#pragma once

// A store that fails on purpose: at the N-th write, or where a hook returns an error. The simulation kills a process
// there, so that it tries every point between two records. After a failure all writes fail; reads still work.
#include <functional>
#include <memory>

#include "common/base/mutex.h"
#include "common/kv/kv_store.h"

namespace basalt::kv {

class FaultyKv final : public KvStore {
 public:
  // Gets the number of the write, from 1. An error acts as if the process had died at this point.
  using Hook = std::function<absl::Status(uint64_t write, const WriteBatch& batch)>;

  explicit FaultyKv(std::unique_ptr<KvStore> inner) : inner_(std::move(inner)) {}

  // Lets the n-th write from now (1 = the next) fail without being applied.
  void FailWrite(uint64_t n, absl::Status status) BASALT_EXCLUDES(mutex_);
  // An error of `before` keeps the batch from the store. After an error of `after`, the batch is in the store, but the
  // write fails. Requires: no write has begun. The hooks run on the writer's thread and must not call the store.
  void SetHooks(Hook before, Hook after);
  uint64_t writes() const BASALT_EXCLUDES(mutex_);

  absl::Status Write(const WriteBatch& batch) override BASALT_EXCLUDES(mutex_);
  absl::StatusOr<std::optional<std::string>> Get(Family family, std::string_view key) const override {
    return inner_->Get(family, key);
  }
  absl::Status Scan(Family family, std::string_view begin, std::string_view end, const Visitor& visit) const override {
    return inner_->Scan(family, begin, end, visit);
  }

 private:
  absl::Status Begin(uint64_t& number) BASALT_EXCLUDES(mutex_);
  absl::Status Break(absl::Status status) BASALT_EXCLUDES(mutex_);

  const std::unique_ptr<KvStore> inner_;
  Hook before_;
  Hook after_;
  mutable Mutex mutex_;
  uint64_t writes_ BASALT_GUARDED_BY(mutex_) = 0;
  uint64_t fail_at_ BASALT_GUARDED_BY(mutex_) = 0;
  absl::Status fail_with_ BASALT_GUARDED_BY(mutex_);
  absl::Status broken_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::kv
