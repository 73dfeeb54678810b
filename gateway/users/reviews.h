#pragma once

// Asks the API server about users: whose token a text is (TokenReview), and whether a user may do something
// (SubjectAccessReview). Answers are kept for a time, so that an API server that does not answer stops only users who
// are new here. Confined to one loop.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/user.pb.h"
#include "common/base/expiring_cache.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/obs/metrics.h"
#include "common/rpc/peers.h"
#include "gateway/kube/kube_call.h"

namespace basalt::gateway {

struct ReviewOptions {
  std::string user_agent = "basalt-gateway";
  absl::Duration timeout = absl::Seconds(10);        // The limit for one review at the API server.
  absl::Duration token_valid = absl::Minutes(1);     // How long a known token counts without another review.
  absl::Duration token_unknown = absl::Seconds(10);  // How long an unknown token is not reviewed again.
  absl::Duration allowed_valid = absl::Minutes(5);   // How long an allowed access counts.
  absl::Duration refused_valid = absl::Seconds(30);  // How long a refused access counts.
  // How many reviews run at a time. Reviews of tokens have a quarter of them. More reviews wait.
  size_t max_under_way = 16;
  size_t max_waiting = 10'000;  // How many reviews may wait. More are refused.
  // How many reviews of one user may wait. Reviews of tokens, whose users are not known yet, share one such limit.
  size_t max_waiting_of = 1'000;
  // Called with the outcome of each review that was created. `resource` is "tokenreviews.authentication.k8s.io" or
  // "subjectaccessreviews.authorization.k8s.io". `error` is the API server's refusal; null if the review was answered.
  // Not called if the outcome is unknown.
  std::function<void(const std::string& resource, const v1::KubeError* error)> on_review;
};

class Reviews {
 public:
  using Claims = v1::UserClaims;  // Only user, UID, groups and extra are set.

  // All references must outlive this object.
  Reviews(Loop& loop, http::Client& client, obs::Metrics& metrics, ReviewOptions options);
  ~Reviews();

  // Finds the user of the token. `done` runs on the loop, once, and not after the end of this object. UNAUTHENTICATED:
  // the token is nobody's; UNAVAILABLE: the API server does not answer; RESOURCE_EXHAUSTED: too many reviews wait;
  // FAILED_PRECONDITION: the gateway may not create the review, and the message names the right.
  void ReviewToken(const std::string& token, rpc::Done<Claims> done);

  // Answers the questions in their order: whether the user may do it, for how long the answer counts, and why. Errors
  // are those of ReviewToken except UNAUTHENTICATED.
  void ReviewAccess(const Claims& user, const std::vector<v1::AccessQuestion>& questions,
                    rpc::Done<v1::ReviewAccessResponse> done);

 private:
  struct Waiting {
    KubeCall call;
    std::function<void(KubeAnswer)> done;
  };
  // Waiting reviews of tokens, or of the rights of one user. The queues take turns.
  using Queue = std::deque<Waiting>;
  struct Access {
    bool allowed = false;
    std::string reason;
    absl::Time end;
  };
  using AccessDone = std::function<void(absl::StatusOr<Access>)>;

  // Starts the review now or as soon as another one has ended. Returns false if too many reviews wait.
  bool Ask(const std::string& whose, KubeCall call, std::function<void(KubeAnswer)> done);
  void StartNext();
  void Count(std::string_view kind, std::string_view result);
  absl::Status StatusOf(std::string_view kind, const KubeAnswer& answer);
  void AskAccess(const Claims& user, const std::string& digest, const v1::AccessQuestion& question, AccessDone done);

  Loop& loop_;
  http::Client& client_;
  obs::Metrics& metrics_;
  const ReviewOptions options_;
  ExpiringCache<absl::StatusOr<Claims>> tokens_{10'000};  // By the digest of the token.
  ExpiringCache<Access> accesses_{100'000};
  // The callbacks that wait for an answer, by question under way.
  std::map<std::string, std::vector<AccessDone>> asked_;
  std::map<std::string, Queue> waiting_;  // By the digest of the user; kTokens for tokens.
  size_t waiting_count_ = 0;
  std::string turn_;  // The queue whose review was started last.
  size_t tokens_under_way_ = 0;
  std::map<uint64_t, std::unique_ptr<http::Call>> under_way_;
  uint64_t next_ = 0;
};

// ---- pure ----

// Returns a TokenReview of authentication.k8s.io/v1 as JSON.
std::string TokenReviewJson(std::string_view token);
// UNAUTHENTICATED if, by the review, Kubernetes does not know the token. INVALID_ARGUMENT if the body is no review.
absl::StatusOr<v1::UserClaims> ReadTokenReview(std::string_view body);
std::string AccessReviewJson(const v1::UserClaims& user, const v1::AccessQuestion& question);

}  // namespace basalt::gateway
