#pragma once

// Objects without a slot of their own that replicas request: one subscription for each object, however many replicas
// ask, with the newest state kept. Only changes are sent. Each object has a watch of its own, so that nothing is sent
// of the many others of its kind. If there are `max_watches` already, or if the object must not be watched, the object
// is read every `period` instead, until a watch is free or permitted. It is read less often if very many objects are.
//
// The API server names the version of a group to use. No object exists of a kind that the server does not serve:
// replicas are notified of that, and the kind is looked for, once for all its objects, until it is served. Confined to
// one loop.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "common/exec/loop.h"
#include "gateway/kube/kube_access.h"
#include "gateway/session/session.h"

namespace basalt::gateway {

struct InterestOptions {
  size_t max_watches = 256;
  absl::Duration period = absl::Seconds(10);
  absl::Duration between_reads = absl::Milliseconds(50);  // The pause between any two reads.
};

class Interests {
 public:
  // Called as `notify(session, key, object)`. `object` is null if there is no such object.
  using Notify = std::function<void(Session&, const InterestKey&, std::shared_ptr<const kube::v1::Object>)>;

  Interests(Loop& loop, KubeAccess& kube, InterestOptions options, Notify notify);
  ~Interests();

  // Notifies the session at once of a state that is known already. Requires: the watch is a plural with its group,
  // "replicasets.apps", as CheckInterest permits it.
  void Add(Session& session, const InterestKey& key);
  void Withdraw(Session& session, const InterestKey& key);
  void Forget(Session& session);
  size_t size() const { return entries_.size(); }
  size_t watches() const { return watches_; }

 private:
  struct Kind {
    v1::Resource resource;               // Has no version while the kind is not known to be served.
    bool absent = false;                 // The kind is known not to be served.
    std::unique_ptr<KindSearch> search;  // Null if the version needs no search.
  };
  struct Entry {
    std::set<uint64_t> sessions;  // Keys of sessions_.
    bool known = false;
    std::shared_ptr<const kube::v1::Object> object;
    std::unique_ptr<ObjectWatch> watch;  // Null if the object is read instead.
    TimerId timer = kNoTimer;            // Runs until the next read.
    uint64_t generation = 0;             // The number of the read under way; 0 if there is none.
  };

  using Entries = std::map<InterestKey, Entry>;

  uint64_t IdOf(Session& session);
  Entries::iterator FirstOf(const std::string& watch);
  const Kind& KindOf(const std::string& watch);
  void Search(const std::string& watch, Kind& kind);
  void OnKind(const std::string& watch, const std::string& version);
  void OnNotServed(const std::string& watch);
  void WatchOrRead(const InterestKey& key);
  void OnSeen(const InterestKey& key, absl::StatusOr<std::shared_ptr<const kube::v1::Object>> seen);
  void Read(const InterestKey& key);
  void OnAnswer(const InterestKey& key, uint64_t generation, absl::StatusOr<v1::GetResponse> answer);
  void Learn(const InterestKey& key, Entry& entry, std::shared_ptr<const kube::v1::Object> object);
  void Stop(Entry& entry);
  void Drop(Entries::iterator it);

  Loop& loop_;
  KubeAccess& kube_;
  const InterestOptions options_;
  const Notify notify_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  uint64_t next_id_ = 1;
  absl::Time next_read_ = absl::InfinitePast();  // The first time that is free for a read.
  std::map<uint64_t, Session*> sessions_;        // In the order in which they first asked.
  std::map<std::string, Kind> kinds_;            // The kinds of the entries, by watch.
  Entries entries_;
  size_t watches_ = 0;
};

}  // namespace basalt::gateway
