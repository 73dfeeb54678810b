#pragma once

// One reflector and what comes of it: the cache's content, readiness, metrics and words. Confined to one loop.
//
// Its target of readiness is in one of these states: starting, listed, and those of Problem. A kind that is absent is
// ready, and says so: this suite has work on clusters without some of them. A kind whose group is there in other
// versions only is not ready: somebody has installed definitions that we cannot use. What fails after it was listed is
// told only when it lasts; what the connection is to blame for, the target of the API server says.
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
  // What several watches share; all references outlive them.
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

  // The watch goes on from where it was before it was forbidden.
  void NoteServed();
  void SetListed();
  // The items of a list do not say what they are.
  void SetKind(kube::v1::Workload& workload) const;
  // Its pods are for one of our schedulers.
  bool IsOurs(const kube::v1::Workload& workload) const;
  // Whether it is news: most events of a workload change its status, of which the revision and the end of a Job alone
  // are shown. Of one whose pods are for other schedulers from now on the scheduler's name is taken away.
  bool ChangesWorkload(WatchType type, kube::v1::Workload& workload) const;
  // The same of any kind that is told without its status, which others write in every cycle.
  template <typename Kind>
  bool Changes(WatchType type, const kube::v1::Object& object, Kind* (kube::v1::Object::*part)()) const;
  // Asks which versions of the group there are, now and as long as the kind is absent.
  void AskVersions();
  void OnVersions(absl::StatusOr<http::Response> answer);

  const Shared shared_;
  const WatchIndex index_;
  const std::string id_;
  const std::string target_;      // Of readiness.
  const std::string resource_;    // "jobs.batch.volcano.sh"
  const std::string group_path_;  // "/apis/batch.volcano.sh"; empty for the core group.
  const std::string version_;
  const absl::Duration slow_retry_;
  const kube::Kind* const workload_kind_;  // Null: the watch shows no workloads.
  const std::vector<std::string> schedulers_;
  bool listed_ = false;
  bool absent_ = false;
  absl::Time failing_since_ = absl::InfiniteFuture();
  std::unique_ptr<http::Call> versions_call_;
  TimerId versions_timer_ = kNoTimer;
  obs::Counter& events_;
  obs::Counter& lists_;
  Reflector reflector_;  // Last: it ends first.
};

struct WatchedSchedulers {
  std::vector<std::string> names;      // Whose pods get groups of Volcano's form.
  std::vector<std::string> kai_names;  // Of KAI's form.
  bool is_rich = false;                // Volcano's are by the rules of all kinds, too (pod-grouper 11).
};

// The watches of a gateway, in the order of the cache's indices.
std::vector<ReflectorOptions> WatchesFor(const WatchedSchedulers& schedulers, bool streaming_lists);

}  // namespace basalt::gateway
