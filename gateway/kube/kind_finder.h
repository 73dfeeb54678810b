#pragma once

// In which version the API server serves a kind. Its discovery documents say it: the group's names the versions, each
// version's the kinds; every account may read them (Kubernetes' role system:discovery). A kind that is not served is
// looked for again now and then, and a failure meets a back-off: one small request at a time, however many objects of
// the kind are waited for. Confined to one loop.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/reconcile/back_off.h"
#include "gateway/kube/kube_access.h"

namespace basalt::gateway {

// The versions in an APIGroup, the one that the server prefers first; none where it is no such document.
std::vector<std::string> VersionsIn(const http::Response& response);

// What an APIResourceList says of the kind, without a plural where it has none of it; nothing where it is no such
// document.
std::optional<ServedKind> KindIn(const http::Response& response, const WantedKind& wanted);

class KindFinder final : public KindSearch {
 public:
  // Of all of them; the references outlive it.
  struct Shared {
    Loop& loop;
    http::Client& client;
    Random& random;
    absl::Duration slow_retry;  // Between two looks at what is not served; ± half.
  };

  // See KubeAccess::FindKind.
  KindFinder(const Shared& shared, WantedKind wanted, bool absent, KindFound found);
  ~KindFinder() override;

 private:
  using Heard = void (KindFinder::*)(const http::Response& answer);

  void Look();
  void LookAfter(absl::Duration delay);
  void Ask(std::string target, Heard heard);
  void OnAnswer(const absl::StatusOr<http::Response>& answer, Heard heard);
  void OnGroup(const http::Response& answer);
  void AskVersion();
  void OnVersion(const http::Response& answer);
  void OnAbsent();
  void OnFailure(std::string why, absl::Duration at_least = absl::ZeroDuration());

  const Shared shared_;
  const WantedKind wanted_;
  const KindFound found_;
  bool reported_absent_;
  BackOff back_off_{{.first = absl::Milliseconds(100), .most = absl::Seconds(30)}};
  std::vector<std::string> versions_;  // Of the look under way, in the order in which they are asked about.
  size_t next_ = 0;                    // Of these.
  std::unique_ptr<http::Call> call_;
  TimerId timer_ = kNoTimer;
};

}  // namespace basalt::gateway
