#include "common/kv/faulty_kv.h"

#include <utility>

#include "common/base/status_macros.h"

namespace basalt::kv {

void FaultyKv::FailWrite(uint64_t n, absl::Status status) {
  MutexLock lock(mutex_);
  fail_at_ = writes_ + n;
  fail_with_ = std::move(status);
}

void FaultyKv::SetHooks(Hook before, Hook after) {
  before_ = std::move(before);
  after_ = std::move(after);
}

uint64_t FaultyKv::writes() const {
  MutexLock lock(mutex_);
  return writes_;
}

absl::Status FaultyKv::Begin(uint64_t& number) {
  MutexLock lock(mutex_);
  if (!broken_.ok()) return broken_;
  number = ++writes_;
  if (number == fail_at_) broken_ = fail_with_;
  return broken_;
}

absl::Status FaultyKv::Break(absl::Status status) {
  MutexLock lock(mutex_);
  broken_ = status;
  return status;
}

absl::Status FaultyKv::Write(const WriteBatch& batch) {
  uint64_t number = 0;
  BASALT_RETURN_IF_ERROR(Begin(number));
  if (before_) {
    if (absl::Status status = before_(number, batch); !status.ok()) return Break(std::move(status));
  }
  BASALT_RETURN_IF_ERROR(inner_->Write(batch));
  if (after_) {
    if (absl::Status status = after_(number, batch); !status.ok()) return Break(std::move(status));
  }
  return absl::OkStatus();
}

}  // namespace basalt::kv
