#pragma once

// Watches the objects of one collection: how many are in which phase, their UIDs, and since when nothing has changed.
// Confined to the loop.
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/time/time.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "kubesim/actors/client/informer.h"

namespace basalt::bench {

class Collection : private actors::InformerListener {
 public:
  // All references must outlive the collection.
  Collection(Loop& loop, http::Client& client, Random& random, std::string_view path);

  int size() const { return static_cast<int>(objects_.size()); }
  // Returns the number of objects in the phase. An object's phase is the first that exists of status.state.phase,
  // status.phase and, for queues, status.state. An object without any of these is in the phase "".
  int In(std::string_view phase) const;
  // Returns the number of objects that name a pod group. These are pods of either scheduler.
  int grouped() const { return grouped_; }
  // Returns "" if there is no such object.
  std::string UidOf(std::string_view name) const;
  absl::Time last_change() const { return last_change_; }
  bool synced() const { return informer_.synced(); }
  // Called for each object that is new or enters another phase. There is one listener.
  using OnPhase = std::function<void(std::string_view name, std::string_view phase)>;
  void set_on_phase(OnPhase on_phase) { on_phase_ = std::move(on_phase); }

 private:
  struct Object {
    std::string uid, phase;
    bool is_grouped = false;
  };
  void OnObject(const json::value& object) override;
  void OnGone(const actors::ObjectName& gone) override;
  void OnSynced() override {}

  std::unordered_map<std::string, Object> objects_;  // By name.
  std::unordered_map<std::string, int> phases_;
  int grouped_ = 0;
  absl::Time last_change_;
  OnPhase on_phase_;
  actors::Informer informer_;
};

}  // namespace basalt::bench
