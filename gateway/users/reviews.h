#pragma once

// What the API server says of users: who a token is of (TokenReview), and whether a user may do something
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
  absl::Duration timeout = absl::Seconds(10);        // Of a review at the API server.
  absl::Duration token_valid = absl::Minutes(1);     // How long a token that is known counts without another look.
  absl::Duration token_unknown = absl::Seconds(10);  // How long nobody asks again about a token that is not known.
  absl::Duration allowed_valid = absl::Minutes(5);   // How long an allowed access counts,
  absl::Duration refused_valid = absl::Seconds(30);  // and a refused one.
  size_t max_under_way = 16;                         // Reviews at a time, of which tokens have a quarter; more wait.
  size_t max_waiting = 10'000;                       // More are refused,
  size_t max_waiting_of = 1'000;  // and of one user; of tokens, which nobody is known for yet, all together.
  // Called with the outcome of each review that was created. `resource`: "tokenreviews.authentication.k8s.io" or
  // "subjectaccessreviews.authorization.k8s.io". `error`: the API server's refusal; null where the review was answered.
  // Not called where the outcome is unknown.
  std::function<void(const std::string& resource, const v1::KubeError* error)> on_review;
};

class Reviews {
 public:
  using Claims = v1::UserClaims;  // User, UID, groups and extra alone.

  // All references outlive it.
  Reviews(Loop& loop, http::Client& client, obs::Metrics& metrics, ReviewOptions options);
  ~Reviews();

  // Whose the token is. `done` runs on the loop, once, and not after the end of this object. UNAUTHENTICATED: nobody's;
  // UNAVAILABLE: the API server does not answer; RESOURCE_EXHAUSTED: too many reviews wait;
  // FAILED_PRECONDITION: the gateway may not ask, and the message names the right.
  void ReviewToken(const std::string& token, rpc::Done<Claims> done);

  // Whether the user may do that, for how long the answer counts, and why, in the order of the questions. Errors as
  // above, but for UNAUTHENTICATED.
  void ReviewAccess(const Claims& user, const std::vector<v1::AccessQuestion>& questions,
                    rpc::Done<v1::ReviewAccessResponse> done);

 private:
  struct Waiting {
    KubeCall call;
    std::function<void(KubeAnswer)> done;
  };
  // Those who wait for the same: reviews of tokens, or of the rights of one user. They have turns.
  using Queue = std::deque<Waiting>;
  struct Access {
    bool allowed = false;
    std::string reason;
    absl::Time end;
  };
  using AccessDone = std::function<void(absl::StatusOr<Access>)>;

  // Runs now or as soon as another review has ended. False: too many wait.
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
  std::map<std::string, std::vector<AccessDone>> asked_;  // Questions under way, and who waits for the answer.
  std::map<std::string, Queue> waiting_;                  // By whose they are; kTokens for tokens.
  size_t waiting_count_ = 0;
  std::string turn_;  // Whose review was started last.
  size_t tokens_under_way_ = 0;
  std::map<uint64_t, std::unique_ptr<http::Call>> under_way_;
  uint64_t next_ = 0;
};

// ---- pure ----

// "apiVersion: authentication.k8s.io/v1, kind: TokenReview" as JSON.
std::string TokenReviewJson(std::string_view token);
// UNAUTHENTICATED: the review says that nobody has the token. INVALID_ARGUMENT: it is no review.
absl::StatusOr<v1::UserClaims> ReadTokenReview(std::string_view body);
std::string AccessReviewJson(const v1::UserClaims& user, const v1::AccessQuestion& question);

}  // namespace basalt::gateway
