#include "common/rpc/grpc/user_access.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/identity/user_token.h"
#include "common/obs/log.h"
#include "common/rpc/grpc/users.h"

namespace basalt::rpc {

namespace {

bool IsChange(const identity::Right& right) {
  return right.users.kind == identity::UserRight::Kind::kKubernetes && right.users.verb != "get" &&
         right.users.verb != "list" && right.users.verb != "watch";
}

}  // namespace

Client UserAccess::ClientOf(const grpc::ServerContextBase& context) const {
  Client client;
  client.user_token = UserTokenOf(context);
  if (!client.user_token.empty()) {
    const gateway::v1::UserClaims claims = ClaimsIn(client.user_token);
    client.user = claims.user();
    client.left = absl::FromUnixSeconds(claims.expire_time().seconds()) - Users::Now();
  }
  const absl::StatusOr<identity::Identity> identity = guard_->ClientOf(*context.auth_context());
  if (!identity.ok()) {
    client.is_user = true;
    client.uri = identity::UriOfUser(client.user);
  } else if (identity->role == identity::Role::kOperator || identity->role == identity::Role::kReader) {
    client.uri = identity::UriOf(*identity);
    client.user_token.clear();  // An operator acts as an operator.
  }
  return client;
}

std::string UserAccess::PathOf(const identity::Right& right) {
  return fmt::format("/{}/{}", right.service, right.method);
}

UserAccess::Question UserAccess::QuestionOf(const identity::Right& right, const Target& target) {
  Question question;
  question.set_verb(std::string(right.users.verb));
  question.set_group(target.group.empty() ? std::string(right.users.group) : target.group);
  question.set_resource(std::string(right.users.resource));
  question.set_namespace_(right.users.in_namespace.empty() ? target.ns : std::string(right.users.in_namespace));
  // A new object has no name yet when Kubernetes reviews the right to create it.
  if (right.users.verb != "create") question.set_name(target.name);
  return question;
}

std::string UserAccess::KeyOf(const std::string& digest, const Question& question) {
  return digest + question.SerializeAsString();
}

void UserAccess::Finish(Asked asked, bool allowed) {
  // A call without the right does not count, so that no user can use up the calls of another user's namespace.
  if (allowed && !asked.target.ns.empty() && !per_namespace_.Allow(asked.target.ns, loop_.Now())) {
    return asked.done(guard_->RefuseUser(
        MakeStatus(absl::StatusCode::kResourceExhausted,
                   fmt::format("users make too many calls to namespace '{}' (--namespace_rate); come again later",
                               Excerpt(asked.target.ns))),
        asked.client.user, PathOf(*asked.right), "rate"));
  }
  if (allowed || !asked.may_refuse) return asked.done(allowed);
  const identity::UserRight& right = asked.right->users;
  const Question question = QuestionOf(*asked.right, asked.target);
  const std::string where =
      question.namespace_().empty() ? "" : fmt::format(" in namespace '{}'", question.namespace_());
  asked.done(guard_->RefuseUser(MakeStatus(absl::StatusCode::kPermissionDenied,
                                           fmt::format("user '{}' may not {} {}.{}{}", Excerpt(asked.client.user),
                                                       right.verb, right.resource, right.group, where)),
                                asked.client.user, PathOf(*asked.right), "right"));
}

void UserAccess::Check(const Client& client, const identity::Right& right, const Target& target, Done<bool> done,
                       bool may_refuse) {
  Asked asked{.digest = identity::DigestOfUser(client.user_token),
              .client = client,
              .right = &right,
              .target = target,
              .done = std::move(done),
              .may_refuse = may_refuse};
  loop_.Post([self = shared_from_this(), asked = std::move(asked)]() mutable {
    if (asked.right->users.kind != identity::UserRight::Kind::kKubernetes) return self->Finish(std::move(asked), true);
    Question all = QuestionOf(*asked.right, asked.target);
    Question one = all;
    all.clear_name();
    const std::string token = asked.client.user_token;
    const std::string digest = asked.digest;
    // The first review is about all objects, so that its result serves calls about other objects, too.
    auto answered = [self, one, token, digest,
                     asked = std::move(asked)](absl::StatusOr<std::vector<bool>> may) mutable {
      if (!may.ok()) return asked.done(may.status());
      if (may->front() || one.name().empty()) return self->Finish(std::move(asked), may->front());
      self->Ask(token, digest, {std::move(one)},
                [self, asked = std::move(asked)](absl::StatusOr<std::vector<bool>> named) mutable {
                  if (!named.ok()) return asked.done(named.status());
                  self->Finish(std::move(asked), named->front());
                });
    };
    self->Ask(token, digest, {std::move(all)}, std::move(answered));
  });
}

void UserAccess::CheckAll(const Client& client, const identity::Right& right, const std::vector<Target>& targets,
                          Done<std::vector<bool>> done) {
  std::vector<Question> questions;
  questions.reserve(targets.size());
  for (const Target& target : targets) {
    questions.push_back(QuestionOf(right, target));
    questions.back().clear_name();
  }
  loop_.Post([self = shared_from_this(), token = client.user_token, questions = std::move(questions),
              done = std::move(done)]() mutable {
    self->Ask(token, identity::DigestOfUser(token), std::move(questions), std::move(done));
  });
}

void UserAccess::Ask(const std::string& token, const std::string& digest, std::vector<Question> questions,
                     Done<std::vector<bool>> done) {
  const absl::Time now = loop_.Now();
  std::vector<bool> may(questions.size());
  std::vector<size_t> open;
  gateway::v1::ReviewAccessRequest request;
  for (size_t i = 0; i < questions.size(); ++i) {
    if (const bool* const known = known_.Find(KeyOf(digest, questions[i]), now); known != nullptr) {
      may[i] = *known;
    } else {
      open.push_back(i);
      *request.add_questions() = questions[i];
    }
  }
  if (open.empty()) return done(std::move(may));
  request.set_token(token);
  review_(std::move(request), [self = shared_from_this(), digest, questions = std::move(questions),
                               may = std::move(may), open = std::move(open), done = std::move(done)](
                                  absl::StatusOr<gateway::v1::ReviewAccessResponse> answer) mutable {
    if (!answer.ok()) {
      // No user is let in because the reviewer does not answer.
      return done(
          MakeStatus(absl::IsUnauthenticated(answer.status()) ? absl::StatusCode::kUnauthenticated
                                                              : absl::StatusCode::kUnavailable,
                     fmt::format("the rights of the user cannot be reviewed: {}", ToStd(answer.status().message()))));
    }
    if (answer->answers_size() != static_cast<int>(open.size())) {
      return done(MakeStatus(absl::StatusCode::kUnavailable,
                             "the rights of the user cannot be reviewed: the gateway "
                             "has not answered every question"));
    }
    for (size_t i = 0; i < open.size(); ++i) {
      const auto& review = answer->answers(static_cast<int>(i));
      may[open[i]] = review.allowed();
      self->known_.Put(KeyOf(digest, questions[open[i]]), review.allowed(),
                       self->loop_.Now() + absl::Milliseconds(review.valid_ms()));
    }
    done(std::move(may));
  });
}

void UserAccess::Audit(const Client& client, const identity::Right& right, const Target& target,
                       const absl::Status& outcome) const {
  if (client.uri.empty() || !IsChange(right)) return;
  constexpr size_t kName = 253;
  obs::LogAudit({{"client", client.uri},
                 {"rpc", PathOf(right)},
                 {"namespace", Excerpt(target.ns, kName)},
                 {"name", Excerpt(target.name, kName)},
                 {"dry_run", target.dry_run ? "true" : "false"},
                 {"outcome", absl::StatusCodeToString(outcome.code())}});
}

}  // namespace basalt::rpc
