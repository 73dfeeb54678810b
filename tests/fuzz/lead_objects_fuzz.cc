// Target: the Lease and the ConfigMap of the lead as the API server returns them, with anybody's edits.
#include <algorithm>
#include <optional>
#include <string>

#include "common/exec/sim_loop.h"
#include "common/time/sim_time.h"
#include "gateway/kube/testing.h"
#include "gateway/lead/kube_assignment_store.h"
#include "gateway/lead/lease.h"
#include "tests/fuzz/input.h"

namespace basalt::gateway {
namespace {

using fuzz::Require;

void ReadLease(std::string_view text) {
  const absl::StatusOr<Lease> lease = ParseLease(text);
  if (!lease.ok()) return;
  Require(lease->wait >= absl::ZeroDuration() && lease->duration >= absl::ZeroDuration(), "no time is below 0");
  const LeaseClaim claim{.identity = IdentityOf({"gateway-0", "a"}),
                         .address = "10.0.0.1:1",
                         .duration = absl::Seconds(15),
                         .now = absl::FromUnixSeconds(1),
                         .wait = lease->wait};
  for (const std::string& written : {TakenLease(*lease, claim), RenewedLease(*lease, claim)}) {
    const absl::StatusOr<Lease> read = ParseLease(written);
    Require(read.ok(), "a lease that is written can be read");
    Require(read->identity == claim.identity && read->address == claim.address && read->duration == claim.duration &&
                read->wait == std::min(claim.wait, claim.duration),
            "a lease tells what was claimed");
  }
  const absl::StatusOr<Lease> released = ParseLease(ReleasedLease(*lease, claim.now, lease->wait));
  Require(released.ok() && released->free(), "a lease that is released is free");
}

void LoadAssignment(std::string_view text) {
  ScriptedClient client;
  KubeAssignmentStore store(client, {.writer = "gateway-0/a"});
  std::optional<absl::StatusOr<std::optional<storage::v1::AssignmentRecord>>> loaded;
  store.Load([&loaded](auto answer) { loaded = std::move(answer); });
  client.last().Answer(200, text);
  Require(loaded.has_value(), "what is loaded is told");
  if (!loaded->ok()) return;
  Require((**loaded).has_value(), "a record is there");
  bool is_saved = false;
  store.Save(***loaded, [&is_saved](const absl::Status& status) { is_saved = status.ok(); });
  const std::string written = client.last().request().body;
  client.last().Answer(200, written);
  Require(is_saved, "what the server has taken is saved");
  KubeAssignmentStore other(client, {.writer = "gateway-1/a"});
  other.Load([&loaded](auto answer) { loaded = std::move(answer); });
  client.last().Answer(200, written);
  Require(loaded->ok() && (**loaded).has_value(), "what is saved can be loaded");
}

}  // namespace
}  // namespace basalt::gateway

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = basalt::fuzz::TextOf(data, size);
  basalt::gateway::ReadLease(text);
  basalt::gateway::LoadAssignment(text);
  return 0;
}
