#pragma once

// Objects without a slot of their own that replicas ask for: one subscription for each object, however many ask, with
// the newest state kept; only changes are told. Each has a watch of its own, so that nothing is told of the many of its
// kind that nobody asks for. Where there are `max_watches` already, or it must not be watched, it is read every
// `period` instead, and less often where very many are, until there is room, or it may be.
//
// Which version of a group to ask for, the API server says. Of a kind that it does not serve there is no object: so
// much is told, and the kind is looked for, once for all objects of it, until it is served. Confined to one loop.
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
  absl::Duration between_reads = absl::Milliseconds(50);  // Of all of them together.
};

class Interests {
 public:
  // `tell(session, key, object)`: null = there is no such object.
  using Tell = std::function<void(Session&, const InterestKey&, std::shared_ptr<const kube::v1::Object>)>;

  Interests(Loop& loop, KubeAccess& kube, InterestOptions options, Tell tell);
  ~Interests();

  // The session is told what is known already at once. Requires: the watch is a plural with its group,
  // "replicasets.apps", as CheckInterest allows it.
  void Add(Session& session, const InterestKey& key);
  void Withdraw(Session& session, const InterestKey& key);
  void Forget(Session& session);
  size_t size() const { return entries_.size(); }
  size_t watches() const { return watches_; }

 private:
  struct Kind {
    v1::Resource resource;               // Without a version: it is not known to be served.
    bool absent = false;                 // It is known not to be.
    std::unique_ptr<KindSearch> search;  // Null: there was nothing to look for.
  };
  struct Entry {
    std::set<uint64_t> sessions;  // Keys of sessions_.
    bool known = false;
    std::shared_ptr<const kube::v1::Object> object;
    std::unique_ptr<ObjectWatch> watch;  // Null: it is read.
    TimerId timer = kNoTimer;            // Until it is read again.
    uint64_t generation = 0;             // Of the read under way, or of none.
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
  const Tell tell_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  uint64_t next_id_ = 1;
  absl::Time next_read_ = absl::InfinitePast();  // The first time that no read has.
  std::map<uint64_t, Session*> sessions_;        // In the order in which they first asked.
  std::map<std::string, Kind> kinds_;            // By watch, those of the entries.
  Entries entries_;
  size_t watches_ = 0;
};

}  // namespace basalt::gateway
