#pragma once

// Finds the version in which the API server serves a kind. The server's discovery documents contain it: the group's
// document names the versions, and each version's document names the kinds. Every account may read them (Kubernetes'
// role system:discovery). The finder looks again now and then for a kind that is not served, and backs off after a
// failure: it sends one small request at a time, however many objects of the kind are waited for. Confined to one loop.
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

// Returns the versions in an APIGroup, the server's preferred one first. Empty if the response is no such document.
std::vector<std::string> VersionsIn(const http::Response& response);

// Returns the entry of an APIResourceList for the kind, without a plural if the list lacks the kind. Nullopt if the
// response is no such document.
std::optional<ServedKind> KindIn(const http::Response& response, const WantedKind& wanted);

class KindFinder final : public KindSearch {
 public:
  // Shared by all finders, which the references must outlive.
  struct Shared {
    Loop& loop;
    http::Client& client;
    Random& random;
    absl::Duration slow_retry;  // The time between two looks for a kind that is not served; ± half.
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
  std::vector<std::string> versions_;  // The versions of the look under way, in the order of their requests.
  size_t next_ = 0;                    // The index of the next one of versions_.
  std::unique_ptr<http::Call> call_;
  TimerId timer_ = kNoTimer;
};

}  // namespace basalt::gateway
