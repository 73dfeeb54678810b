#pragma once

// Which gateway leads: this one, with the ownership of slots that only the leading gateway has, or another one.
// Confined to one loop.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gateway/ownership/ownership.h"

namespace basalt::gateway {

class Leadership {
 public:
  // `self` is the name of this gateway, which follows at first.
  explicit Leadership(std::string self) : self_(std::move(self)) {}

  // This gateway leads, from the record that the last leader saved.
  void Lead(const OwnershipOptions& options, const storage::v1::AssignmentRecord& saved, absl::Time now);
  // `leader` and `address` are those of the leading gateway. Empty if it is not known.
  void Follow(std::string leader, std::string address);

  bool leads() const { return ownership_ != nullptr; }
  // Returns UNAVAILABLE, with a hint at the leader, unless this gateway leads.
  absl::Status Check() const;
  // Requires: leads(). Valid until Follow or Lead.
  Ownership& ownership() const { return *ownership_; }

  const std::string& self() const { return self_; }
  const std::string& leader() const { return leader_; }
  const std::string& leader_address() const { return leader_address_; }
  // Grows with each change between leading and following.
  uint64_t term() const { return term_; }

 private:
  const std::string self_;
  std::string leader_;
  std::string leader_address_;
  std::unique_ptr<Ownership> ownership_;  // Null while another gateway leads.
  uint64_t term_ = 0;
};

}  // namespace basalt::gateway
