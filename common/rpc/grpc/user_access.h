#pragma once

// What a user of Kubernetes may do to the object of a call: the verb of the call's row (identity::AllRights) on the
// resource in the namespace, as the API server reviews it for the gateway. Also how many calls users may make to one
// namespace, and the log of the changes that people ask for. Any thread but where a call says otherwise. Heavy (gRPC):
// only in .cc files.
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

// Who has made a call.
struct Client {
  bool is_user = false;    // Of Kubernetes; such a call is checked.
  std::string uri;         // Of the user, the operator or the reader; empty: a member of the suite, or no TLS.
  std::string user_token;  // Of the user for whom the call is made; a member hands it on. May be empty.
  std::string user;        // Named by the token.
  absl::Duration left = absl::InfiniteDuration();  // For so long the token counts.
};

// What a call is about.
struct Target {
  std::string ns;          // Empty: all namespaces, or a resource that has none.
  std::string name;        // Empty: all objects.
  std::string group = {};  // The API group, where it is not that of the call's row.
  bool dry_run = false;
};

class UserAccess : public std::enable_shared_from_this<UserAccess> {
 public:
  // Asks a gateway; runs on `loop` and answers there.
  using Review =
      std::function<void(gateway::v1::ReviewAccessRequest request, Done<gateway::v1::ReviewAccessResponse> done)>;

  // The loop outlives the last answer. `per_namespace`: the calls of users to objects of one namespace.
  UserAccess(Loop& loop, std::shared_ptr<const CallGuard> guard, Review review, const TokenBucketOptions& per_namespace)
      : loop_(loop), guard_(std::move(guard)), review_(std::move(review)), per_namespace_(per_namespace) {}

  Client ClientOf(const grpc::ServerContextBase& context) const;

  // Whether the user may do that, by one review of all objects of the namespace or else of the one object. `done` comes
  // on `loop`. Requires: the client is a user. PERMISSION_DENIED names user, verb, resource and namespace; where
  // `may_refuse` is false, `done` gets false instead. RESOURCE_EXHAUSTED: users make too many calls to the namespace.
  // UNAVAILABLE: no gateway answers, or the API server does not.
  void Check(const Client& client, const identity::Right& right, const Target& target, Done<bool> done,
             bool may_refuse = true);

  // For each target whether the user may do that to all objects there. Errors: UNAVAILABLE as above.
  void CheckAll(const Client& client, const identity::Right& right, const std::vector<Target>& targets,
                Done<std::vector<bool>> done);

  // Writes the line of the audit log for a call that changes something; of a member nothing is written, since the
  // replica that a person has called does so.
  void Audit(const Client& client, const identity::Right& right, const Target& target,
             const absl::Status& outcome) const;

 private:
  using Question = gateway::v1::AccessQuestion;
  struct Asked {
    std::string digest;  // Of the user with all groups.
    Client client;
    const identity::Right* right = nullptr;
    Target target;
    Done<bool> done;
    bool may_refuse = true;
  };

  static std::string PathOf(const identity::Right& right);
  static Question QuestionOf(const identity::Right& right, const Target& target);
  static std::string KeyOf(const std::string& digest, const Question& question);

  // On the loop.
  void Ask(const std::string& token, const std::string& digest, std::vector<Question> questions,
           Done<std::vector<bool>> done);
  void Finish(Asked asked, bool allowed);

  Loop& loop_;
  const std::shared_ptr<const CallGuard> guard_;
  const Review review_;
  ExpiringCache<bool> known_{10'000};  // On the loop.
  KeyedRate per_namespace_;            // On the loop.
};

}  // namespace basalt::rpc
