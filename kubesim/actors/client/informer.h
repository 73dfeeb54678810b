#pragma once

// Notifies listeners of every object of one resource: lists in pages, watches, resumes, lists again after a 410. The
// informer itself keeps names and UIDs only. Confined to one loop.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"

namespace basalt::actors {

struct ObjectName {
  std::string space;  // Empty for cluster-scoped kinds.
  std::string name;
  std::string uid;
};

class InformerListener {
 public:
  virtual ~InformerListener() = default;
  // Called for a new or changed object, in the server's order. If an object has another UID than the last one of its
  // name, OnGone is called for that one first.
  virtual void OnObject(const json::value& object) = 0;
  virtual void OnGone(const ObjectName& gone) = 0;
  // Called when the first list is complete.
  virtual void OnSynced() = 0;
};

struct InformerOptions {
  std::string path;  // "/api/v1/pods"
  std::string field_selector, label_selector;
  int page = 500;
  absl::Duration watch_time = absl::Minutes(5);
  absl::Duration least_back_off = absl::Milliseconds(100);
  absl::Duration most_back_off = absl::Seconds(10);
  std::string user_agent = "kubesim-actor";
};

class Informer : private http::ResponseObserver {
 public:
  // All references and the listeners outlive this object.
  Informer(Loop& loop, http::Client& client, Random& random, InformerOptions options);
  ~Informer() override;

  // Adds a listener. Must be called before Start().
  void Listen(InformerListener& listener) { listeners_.push_back(&listener); }
  void Start();
  bool synced() const { return synced_; }
  size_t size() const { return known_.size(); }

 private:
  struct Known {
    std::string uid;
    uint64_t listing = 0;
  };

  void List();
  void Listed(absl::StatusOr<http::Response> response);
  void Watch();
  void OnHead(const http::ResponseHead& head) override;
  void OnChunk(std::string_view data) override;
  void OnEnd(const absl::Status& status) override;
  void OnEvent(std::string_view line);
  void Announce(const json::value& object);
  void Remove(const std::string& key);
  void Again(bool from_list, absl::Duration at_least = absl::ZeroDuration());
  std::string TargetOf(std::string_view extra) const;

  Loop& loop_;
  http::Client& client_;
  Random& random_;
  const InformerOptions options_;
  std::vector<InformerListener*> listeners_;

  std::map<std::string, Known> known_;  // By namespace/name.
  std::string resource_version_;
  std::string continue_;
  uint64_t listing_ = 0;
  bool synced_ = false;
  int failures_ = 0;

  std::unique_ptr<http::Call> call_;
  TimerId timer_ = kNoTimer;
  int watch_status_ = 0;
  bool list_next_ = false;
  std::string buffer_;
};

}  // namespace basalt::actors

namespace basalt::kubesim {
using actors::Informer;
using actors::InformerListener;
using actors::InformerOptions;
}  // namespace basalt::kubesim
