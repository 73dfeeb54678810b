#pragma once

// The records that a replica keeps about itself in its store, and the slots that the store has records of. Stateless;
// errors are those of the store. Any thread.
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/kv/kv_store.h"
#include "common/obs/metrics.h"

namespace basalt::runtime {

// Returns the newest epoch that a replica on this disk has received; 0 if there was none. Drops unreadable records of
// the replica and of slots. The ownership of such a slot is unknown, and the slot begins as on an empty disk. `metrics`
// may be null. May be repeated.
absl::StatusOr<int64_t> LoadLastEpoch(kv::KvStore& store, obs::Metrics* metrics);
void PutLastEpoch(int64_t epoch, kv::WriteBatch& batch);

// Returns the secret of the process before, on the same disk; else stores and returns `fresh`. May be repeated.
absl::StatusOr<std::string> LoadNameSecret(kv::KvStore& store, const std::string& fresh);

// Adds the slots that the store has records of, and their epochs. May be repeated for another Hello.
absl::Status AddHeldSlots(const kv::KvStore& store, gateway::v1::Hello& hello);

}  // namespace basalt::runtime
