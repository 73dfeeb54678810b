#include "gateway/users/reviews.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/identity/user_token.h"

namespace basalt::gateway {
namespace {

constexpr char kTokenPath[] = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr char kAccessPath[] = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr char kTokens[] = "";  // The queue of reviews of tokens.
constexpr char kToken[] = "TokenReview";
constexpr char kAccess[] = "SubjectAccessReview";
constexpr char kTokenResource[] = "tokenreviews.authentication.k8s.io";
constexpr char kAccessResource[] = "subjectaccessreviews.authorization.k8s.io";

void AddTexts(const json::value* list, google::protobuf::RepeatedPtrField<std::string>& to) {
  if (list == nullptr || !list->is_array()) return;
  for (const json::value& item : list->get_array()) {
    if (item.is_string()) to.Add(std::string(item.get_string()));
  }
}

json::array TextsOf(const google::protobuf::RepeatedPtrField<std::string>& texts) {
  json::array list;
  for (const std::string& text : texts) list.emplace_back(text);
  return list;
}

absl::Status NoRoom() {
  return MakeStatus(absl::StatusCode::kResourceExhausted, "too many reviews of users wait; come again later");
}

}  // namespace

std::string TokenReviewJson(std::string_view token) {
  json::object review;
  review["apiVersion"] = "authentication.k8s.io/v1";
  review["kind"] = kToken;
  ObjectIn(review, "spec")["token"] = json::string(token.data(), token.size());
  return ToText(review);
}

absl::StatusOr<v1::UserClaims> ReadTokenReview(std::string_view body) {
  BASALT_ASSIGN_OR_RETURN(const json::value review, ParseJson(body));
  const json::value* const status = Find(review, "status");
  if (status == nullptr) return Invalid("the answer is no TokenReview");
  const json::value* const is_known = Find(*status, "authenticated");
  const json::value* const user = Find(*status, "user");
  const bool is_user = is_known != nullptr && is_known->is_bool() && is_known->get_bool() && user != nullptr &&
                       !FindString(*user, "username").empty();
  if (!is_user) return MakeStatus(absl::StatusCode::kUnauthenticated, "Kubernetes does not know the token");
  v1::UserClaims claims;
  claims.set_user(std::string(FindString(*user, "username")));
  claims.set_uid(std::string(FindString(*user, "uid")));
  AddTexts(Find(*user, "groups"), *claims.mutable_groups());
  if (const json::value* const extra = Find(*user, "extra"); extra != nullptr && extra->is_object()) {
    for (const auto& [key, values] : extra->get_object()) {
      // The credential id differs from token to token, and no authorizer reads it.
      if (key == "authentication.kubernetes.io/credential-id") continue;
      v1::UserExtra& one = *claims.add_extra();
      one.set_key(std::string(key));
      AddTexts(&values, *one.mutable_values());
    }
  }
  return claims;
}

std::string AccessReviewJson(const v1::UserClaims& user, const v1::AccessQuestion& question) {
  json::object review;
  review["apiVersion"] = "authorization.k8s.io/v1";
  review["kind"] = kAccess;
  json::object& spec = ObjectIn(review, "spec");
  spec["user"] = user.user();
  if (!user.uid().empty()) spec["uid"] = user.uid();
  spec["groups"] = TextsOf(user.groups());
  for (const v1::UserExtra& extra : user.extra()) ObjectIn(spec, "extra")[extra.key()] = TextsOf(extra.values());
  json::object& what = ObjectIn(spec, "resourceAttributes");
  what["verb"] = question.verb();
  what["group"] = question.group();
  what["resource"] = question.resource();
  if (!question.namespace_().empty()) what["namespace"] = question.namespace_();
  if (!question.name().empty()) what["name"] = question.name();
  return ToText(review);
}

Reviews::Reviews(Loop& loop, http::Client& client, obs::Metrics& metrics, ReviewOptions options)
    : loop_(loop), client_(client), metrics_(metrics), options_(std::move(options)) {}

Reviews::~Reviews() = default;

bool Reviews::Ask(const std::string& whose, KubeCall call, std::function<void(KubeAnswer)> done) {
  Queue& queue = waiting_[whose];
  if (waiting_count_ >= options_.max_waiting || queue.size() >= options_.max_waiting_of) return false;
  call.method = "POST";
  call.user_agent = options_.user_agent;
  call.timeout = options_.timeout;
  queue.push_back({std::move(call), std::move(done)});
  ++waiting_count_;
  StartNext();
  return true;
}

void Reviews::StartNext() {
  const auto may_start = [this](const std::string& whose) {
    return whose != kTokens || tokens_under_way_ < std::max<size_t>(1, options_.max_under_way / 4);
  };
  while (under_way_.size() < options_.max_under_way && waiting_count_ > 0) {
    auto next = waiting_.upper_bound(turn_);
    for (size_t i = 0; i <= waiting_.size(); ++i) {
      if (next == waiting_.end()) next = waiting_.begin();
      if (next->second.empty()) {
        next = waiting_.erase(next);
        if (waiting_.empty()) return;
        continue;
      }
      if (may_start(next->first)) break;
      ++next;
    }
    if (next == waiting_.end() || next->second.empty() || !may_start(next->first)) return;
    turn_ = next->first;
    Waiting first = std::move(next->second.front());
    next->second.pop_front();
    if (next->second.empty()) waiting_.erase(next);
    --waiting_count_;
    const bool is_token = turn_ == kTokens;
    if (is_token) ++tokens_under_way_;
    const uint64_t id = next_++;
    under_way_[id] = StartKubeCall(client_, std::move(first.call),
                                   [this, id, is_token, done = std::move(first.done)](KubeAnswer answer) {
                                     // The call runs this callback, so it must be destroyed after it has returned.
                                     loop_.Post([ended = std::shared_ptr<http::Call>(std::move(under_way_[id]))] {});
                                     under_way_.erase(id);
                                     if (is_token) --tokens_under_way_;
                                     done(std::move(answer));
                                     StartNext();
                                   });
  }
}

void Reviews::Count(std::string_view kind, std::string_view result) {
  metrics_
      .GetCounter("basalt_kubernetes_reviews_total",
                  "Questions about users to the API server, by kind of review and result.",
                  {{"kind", std::string(kind)}, {"result", std::string(result)}})
      .Add();
}

absl::Status Reviews::StatusOf(std::string_view kind, const KubeAnswer& answer) {
  const bool is_done = answer.outcome == KubeAnswer::Outcome::kDone;
  if (options_.on_review != nullptr && (is_done || answer.outcome == KubeAnswer::Outcome::kRefused)) {
    options_.on_review(kind == kToken ? kTokenResource : kAccessResource, is_done ? nullptr : &answer.error);
  }
  if (is_done) return absl::OkStatus();
  Count(kind, "error");
  if (answer.error.code() == 403) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      fmt::format("the gateway may not create a {} (deploy/rbac/users): {}", kind, answer.why));
  }
  return MakeStatus(absl::StatusCode::kUnavailable,
                    fmt::format("the API server does not answer a {}: {}", kind, answer.why));
}

void Reviews::ReviewToken(const std::string& token, rpc::Done<Claims> done) {
  const std::string key = identity::DigestOf(token);
  if (const absl::StatusOr<Claims>* const known = tokens_.Find(key, loop_.Now()); known != nullptr) return done(*known);
  auto shared = std::make_shared<rpc::Done<Claims>>(std::move(done));
  KubeCall call{.target = kTokenPath, .body = TokenReviewJson(token)};
  const bool is_asked = Ask(kTokens, std::move(call), [this, key, shared](const KubeAnswer& answer) {
    if (absl::Status failed = StatusOf(kToken, answer); !failed.ok()) return (*shared)(failed);
    absl::StatusOr<Claims> claims = ReadTokenReview(answer.body);
    if (absl::IsInvalidArgument(claims.status())) {
      return (*shared)(MakeStatus(absl::StatusCode::kUnavailable, ToStd(claims.status().message())));
    }
    Count(kToken, claims.ok() ? "known" : "unknown");
    tokens_.Put(key, claims, loop_.Now() + (claims.ok() ? options_.token_valid : options_.token_unknown));
    (*shared)(std::move(claims));
  });
  if (!is_asked) (*shared)(NoRoom());
}

void Reviews::AskAccess(const Claims& user, const std::string& digest, const v1::AccessQuestion& question,
                        AccessDone done) {
  const std::string key = digest + question.SerializeAsString();
  std::vector<AccessDone>& waiting = asked_[key];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  const auto answer_all = [this, key](const absl::StatusOr<Access>& access) {
    const auto asked = asked_.extract(key);
    for (const AccessDone& one : asked.mapped()) one(access);
  };
  KubeCall call{.target = kAccessPath, .body = AccessReviewJson(user, question)};
  const bool is_asked = Ask(digest, std::move(call), [this, key, answer_all](const KubeAnswer& answer) {
    if (absl::Status failed = StatusOf(kAccess, answer); !failed.ok()) return answer_all(failed);
    const absl::StatusOr<json::value> review = ParseJson(answer.body);
    const json::value* const status = review.ok() ? Find(*review, "status") : nullptr;
    const json::value* const allowed = status == nullptr ? nullptr : Find(*status, "allowed");
    if (allowed == nullptr || !allowed->is_bool()) {
      return answer_all(MakeStatus(absl::StatusCode::kUnavailable, "the answer is no SubjectAccessReview"));
    }
    const bool is_allowed = allowed->get_bool();
    Count(kAccess, is_allowed ? "allowed" : "refused");
    const Access access{.allowed = is_allowed,
                        .reason = std::string(FindString(*status, "reason")),
                        .end = loop_.Now() + (is_allowed ? options_.allowed_valid : options_.refused_valid)};
    accesses_.Put(key, access, access.end);
    answer_all(access);
  });
  if (!is_asked) answer_all(NoRoom());
}

void Reviews::ReviewAccess(const Claims& user, const std::vector<v1::AccessQuestion>& questions,
                           rpc::Done<v1::ReviewAccessResponse> done) {
  struct Gathered {
    v1::ReviewAccessResponse response;
    absl::Status failure;
    size_t left = 0;
    rpc::Done<v1::ReviewAccessResponse> done;
  };
  auto gathered = std::make_shared<Gathered>();
  // One more for this function, so that `done` waits until all questions are on their way.
  gathered->left = questions.size() + 1;
  gathered->done = std::move(done);
  const auto end_one = [](Gathered& all) {
    if (--all.left > 0) return;
    if (!all.failure.ok()) return all.done(all.failure);
    all.done(std::move(all.response));
  };
  const std::string digest = identity::DigestOf(user.SerializeAsString());
  for (const v1::AccessQuestion& question : questions) {
    v1::ReviewAccessResponse::Answer* const answer = gathered->response.add_answers();
    const auto take = [this, gathered, answer, end_one](const absl::StatusOr<Access>& access) {
      if (access.ok()) {
        answer->set_allowed(access->allowed);
        answer->set_reason(access->reason);
        answer->set_valid_ms(absl::ToInt64Milliseconds(access->end - loop_.Now()));
      } else {
        gathered->failure = access.status();
      }
      end_one(*gathered);
    };
    const std::string key = digest + question.SerializeAsString();
    if (const Access* const known = accesses_.Find(key, loop_.Now()); known != nullptr) {
      take(*known);
    } else {
      AskAccess(user, digest, question, take);
    }
  }
  end_one(*gathered);
}

}  // namespace basalt::gateway
