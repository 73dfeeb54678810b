#pragma once

// One reflector, and what follows from its events: the cache's content, readiness, metrics and logs. Confined to one
// loop.
//
// The watch's target of readiness is in one of these states: starting, listed, and those of Problem. The target of an
// absent kind is ready, and its state is absent: this suite has work on clusters without some kinds. The target of a
// kind whose group is served in other versions only is not ready: somebody has installed definitions that the gateway
// cannot use. A failure after the first list is reported only if it lasts. The target of the API server reports
// problems of the connection.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/kube/kinds.h"
#include "common/obs/metrics.h"
#include "gateway/health/readiness.h"
#include "gateway/health/unreadable.h"
#include "gateway/kube/reflect/reflector.h"
#include "gateway/route/cache.h"

namespace basalt::gateway {

class Watch : private ReflectorSink {
 public:
  // Shared by several watches, which all references must outlive.
  struct Shared {
    Loop& loop;
    http::Client& client;
    Random& random;
    ApiClock& clock;
    obs::Metrics& metrics;
    Readiness& readiness;
    Unreadable& unreadable;
    Cache& cache;
  };

  Watch(const Shared& shared, WatchIndex index, ReflectorOptions options);
  ~Watch() override;

  void Start() { reflector_.Start(); }

 private:
  void OnAccepted() override { shared_.readiness.OnAnswer(); }
  void OnReplace(std::vector<Decoded> objects, int64_t resource_version) override;
  void OnEvent(WatchType type, Decoded& decoded, int64_t resource_version) override;
  void OnBookmark(int64_t resource_version) override;
  void OnAbsent() override;
  void OnForbidden(const std::string& message) override;
  void OnError(const absl::Status& status) override;

  // The watch goes on from where it was before it failed or was forbidden.
  void NoteServed();
  void SetListed();
  // Sets the kind, which the items of a list do not contain.
  void SetKind(kube::v1::Workload& workload) const;
  // Whether the workload's pods are for one of our schedulers.
  bool IsOurs(const kube::v1::Workload& workload) const;
  // Whether the event is news: most events of a workload change its status, of which only the revision and the end of a
  // Job are sent. Removes the scheduler's name if the workload's pods are for other schedulers from now on.
  bool ChangesWorkload(WatchType type, kube::v1::Workload& workload) const;
  // The same for any kind that is sent without its status, which others write in every cycle.
  template <typename Kind>
  bool Changes(WatchType type, const kube::v1::Object& object, Kind* (kube::v1::Object::*part)()) const;
  // Asks which versions of the group are served, now and as long as the kind is absent.
  void AskVersions();
  void OnVersions(absl::StatusOr<http::Response> answer);

  const Shared shared_;
  const WatchIndex index_;
  const std::string id_;
  const std::string target_;      // The name of the target of readiness.
  const std::string resource_;    // A name such as "jobs.batch.volcano.sh".
  const std::string group_path_;  // A path such as "/apis/batch.volcano.sh"; empty for the core group.
  const std::string version_;
  const absl::Duration slow_retry_;
  const kube::Kind* const workload_kind_;  // Null if the watch shows no workloads.
  const std::vector<std::string> schedulers_;
  bool listed_ = false;
  bool absent_ = false;
  absl::Time failing_since_ = absl::InfiniteFuture();
  std::unique_ptr<http::Call> versions_call_;
  TimerId versions_timer_ = kNoTimer;
  obs::Counter& events_;
  obs::Counter& lists_;
  Reflector reflector_;  // The last member, so that it ends first.
};

struct WatchedSchedulers {
  std::vector<std::string> names;      // Schedulers whose pods get groups of Volcano's form.
  std::vector<std::string> kai_names;  // Schedulers whose pods get groups of KAI's form.
  bool is_rich = false;                // Volcano's groups, too, follow the rules of all kinds (pod-grouper 11).
};

// Returns the watches of a gateway, in the order of the cache's indices.
std::vector<ReflectorOptions> WatchesFor(const WatchedSchedulers& schedulers, bool streaming_lists);

}  // namespace basalt::gateway
