#pragma once

// The items of one stream that are of no slot's content and have not been sent yet: the token, the assignment, grants,
// leftovers and interests. They go before everything else, in this order. Of an assignment, a grant of a slot and an
// interest only the newest is sent. Confined to one loop.
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "basalt/gateway/v1/gateway.pb.h"
#include "gateway/session/batch.h"

namespace basalt::gateway {

struct InterestKey {
  std::string watch;
  std::string ns;
  std::string name;
  friend auto operator<=>(const InterestKey&, const InterestKey&) = default;
};

class Outbox {
 public:
  void SetToken(std::string token) { token_ = std::move(token); }
  void SetAssignment(const v1::Assignment& assignment) { assignment_ = assignment; }
  void SetGrant(const v1::SlotGrant& grant) { grants_[grant.slot()] = grant; }
  void DropGrant(uint32_t slot) { grants_.erase(slot); }
  void Add(v1::OrphanedRecords leftovers) { leftovers_.push_back(std::move(leftovers)); }
  // Null if there is no such object.
  void SetInterest(const InterestKey& key, std::shared_ptr<const kube::v1::Object> object) {
    interests_[key] = std::move(object);
  }
  void DropInterest(const InterestKey& key) { interests_.erase(key); }

  bool empty() const {
    return !token_.has_value() && !assignment_.has_value() && grants_.empty() && leftovers_.empty() &&
           interests_.empty();
  }
  // The assignment that the next batch contains. Null if it contains none.
  const v1::Assignment* assignment() const { return assignment_.has_value() ? &*assignment_ : nullptr; }

  // Moves as many items to the batch as it has room for. Requires: the batch is empty.
  void MoveTo(Batch& batch);

 private:
  void MoveInterestsTo(Batch& batch);

  std::optional<std::string> token_;
  std::optional<v1::Assignment> assignment_;
  std::map<uint32_t, v1::SlotGrant> grants_;
  std::deque<v1::OrphanedRecords> leftovers_;  // A few for each slot that begins.
  std::map<InterestKey, std::shared_ptr<const kube::v1::Object>> interests_;
};

}  // namespace basalt::gateway
