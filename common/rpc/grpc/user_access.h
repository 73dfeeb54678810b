#pragma once

// Decides what a user of Kubernetes may do to the object of a call: the verb of the call's row (identity::AllRights) on
// the resource in the namespace, as the API server reviews it for the gateway. Also limits how many calls users may
// make to one namespace, and logs the changes that people request. Any thread unless a member states otherwise; calls
// may be repeated. Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/user.pb.h"
#include "common/base/expiring_cache.h"
#include "common/exec/loop.h"
#include "common/identity/rights.h"
#include "common/rpc/grpc/call_guard.h"
#include "common/rpc/peers.h"
#include "common/time/keyed_rate.h"

namespace basalt::rpc {

// The caller of a call.
struct Client {
  bool is_user = false;    // The caller is a user of Kubernetes; such a call is checked.
  std::string uri;         // URI of the user, operator or reader. Empty for a member of the suite, or without TLS.
  std::string user_token;  // Token of the user for whom the call is made; a member hands it on. May be empty.
  std::string user;        // The user that the token names.
  absl::Duration left = absl::InfiniteDuration();  // How long the token is still valid.
};

// The object of a call.
struct Target {
  std::string ns;          // Empty for all namespaces, or for a resource without namespaces.
  std::string name;        // Empty for all objects.
  std::string group = {};  // The API group, if it is not that of the call's row.
  bool dry_run = false;
};

class UserAccess : public std::enable_shared_from_this<UserAccess> {
 public:
  // Calls a gateway. Runs on `loop` and answers there.
  using Review =
      std::function<void(gateway::v1::ReviewAccessRequest request, Done<gateway::v1::ReviewAccessResponse> done)>;

  // The loop outlives the last answer. `per_namespace` limits users' calls to objects of one namespace.
  UserAccess(Loop& loop, std::shared_ptr<const CallGuard> guard, Review review, const TokenBucketOptions& per_namespace)
      : loop_(loop), guard_(std::move(guard)), review_(std::move(review)), per_namespace_(per_namespace) {}

  Client ClientOf(const grpc::ServerContextBase& context) const;

  // Answers whether the user may do that, by one review of all objects of the namespace or else of the one object.
  // `done` runs on `loop`. Requires: the client is a user. PERMISSION_DENIED names user, verb, resource and namespace;
  // if `may_refuse` is false, `done` gets false instead. RESOURCE_EXHAUSTED: users make too many calls to the
  // namespace. UNAVAILABLE: no gateway answers, or the API server does not.
  void Check(const Client& client, const identity::Right& right, const Target& target, Done<bool> done,
             bool may_refuse = true);

  // Answers for each target whether the user may do that to all objects there, on `loop`. Errors: UNAVAILABLE as above.
  void CheckAll(const Client& client, const identity::Right& right, const std::vector<Target>& targets,
                Done<std::vector<bool>> done);

  // Writes the line of the audit log for a call that changes something. A member's call has no line, since the replica
  // that the person has called writes it.
  void Audit(const Client& client, const identity::Right& right, const Target& target,
             const absl::Status& outcome) const;

 private:
  using Question = gateway::v1::AccessQuestion;
  struct Asked {
    std::string digest;  // Digest of the user with all groups.
    Client client;
    const identity::Right* right = nullptr;
    Target target;
    Done<bool> done;
    bool may_refuse = true;
  };

  static std::string PathOf(const identity::Right& right);
  static Question QuestionOf(const identity::Right& right, const Target& target);
  static std::string KeyOf(const std::string& digest, const Question& question);

  // Runs on the loop.
  void Ask(const std::string& token, const std::string& digest, std::vector<Question> questions,
           Done<std::vector<bool>> done);
  // Runs on the loop.
  void Finish(Asked asked, bool allowed);

  Loop& loop_;
  const std::shared_ptr<const CallGuard> guard_;
  const Review review_;
  ExpiringCache<bool> known_{10'000};  // Used on the loop.
  KeyedRate per_namespace_;            // Used on the loop.
};

}  // namespace basalt::rpc
