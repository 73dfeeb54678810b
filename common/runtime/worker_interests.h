#pragma once

// Which workers of a replica have requested which object by name (Context::AddInterest). A value; confined to the
// replica's main loop.
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "basalt/gateway/v1/gateway.pb.h"
#include "common/runtime/objects/object_identity.h"

namespace basalt::runtime {

class WorkerInterests {
 public:
  using Key = std::tuple<std::string, std::string, std::string>;  // (watch, namespace, name)
  using All = std::map<Key, std::set<size_t>>;

  enum class Change {
    kNone,   // The worker had the interest already, or did not have it.
    kFirst,  // No worker had the interest before.
    kJoins,  // Another worker has the interest, too.
    kLast,   // No worker has the interest any more.
  };
  Change Add(size_t worker, const Key& key) {
    std::set<size_t>& workers = all_[key];
    const bool is_first = workers.empty();
    if (!workers.insert(worker).second) return Change::kNone;
    return is_first ? Change::kFirst : Change::kJoins;
  }
  Change Drop(size_t worker, const Key& key) {
    const auto known = all_.find(key);
    if (known == all_.end() || known->second.erase(worker) == 0 || !known->second.empty()) return Change::kNone;
    all_.erase(known);
    return Change::kLast;
  }
  const All& all() const { return all_; }
  // Returns the workers that have requested the object; null if none has.
  const std::set<size_t>* WorkersFor(const std::string& watch, const kube::v1::Object& object) const {
    const ObjectIdentity identity = Identify(object);
    const auto known = all_.find({watch, std::string(identity.ns), std::string(identity.name)});
    return known == all_.end() ? nullptr : &known->second;
  }

 private:
  All all_;
};

// Returns the request by which the gateway begins or ceases to send the object.
inline gateway::v1::AttachRequest InterestRequest(const WorkerInterests::Key& key, bool withdraw) {
  gateway::v1::AttachRequest request;
  gateway::v1::Interest& interest = *request.mutable_interest();
  interest.set_watch(std::get<0>(key));
  interest.set_namespace_(std::get<1>(key));
  interest.set_name(std::get<2>(key));
  interest.set_withdraw(withdraw);
  return request;
}

}  // namespace basalt::runtime
