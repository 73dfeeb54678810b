#include <fmt/format.h>

#include <utility>

#include "services/jobsvc/core/explain/explain_parts.h"

namespace basalt::jobsvc {

using job::v1::Cause;

namespace {

// It is not known to the names of errors: an exceeded quota is Forbidden like much else.
bool IsQuota(std::string_view message) { return message.find("exceeded quota") != std::string_view::npos; }

std::string_view AdviceFor(const Trouble& trouble) {
  switch (trouble.kind) {
    case TroubleKind::kNameHeld:
      return kFreeTheName;
    case TroubleKind::kLabelLost:
      return "Either will do; the job goes on by itself.";
    case TroubleKind::kRefused:
      break;
  }
  return IsQuota(trouble.words.message)
             ? "Raise the ResourceQuota of the namespace, or free what it counts; it is tried again by itself."
             : "Mend what the API server names; it is tried again by itself, and at once after an edit of the job.";
}

void TellClaim(const std::string& claim, Telling& telling) {
  const ExplainInput& in = telling.in;
  TroubleFrame frame{.kind = Cause::KIND_CLAIM,
                     .until_ms = in.retry.objects_ms,
                     .subject = fmt::format("claim {}", claim),
                     .advice = fmt::format("Create PersistentVolumeClaim {} in namespace {}, or correct what is "
                                           "refused; the job goes on by itself.",
                                           claim, telling.job().meta().namespace_())};
  const Trouble* const refused = in.troubles.Find("PVCError");
  if (refused != nullptr && refused->subject == frame.subject) {
    TellTrouble("PVCError", frame, telling);
    return;
  }
  Cause& cause = telling.Add(frame.kind, std::move(frame.subject), fmt::format("claim {} is not there yet", claim),
                             std::move(frame.advice));
  cause.set_since_ms(PhaseSince(in));
  cause.set_until_ms(frame.until_ms);
}

}  // namespace

bool TellTrouble(std::string_view reason, const TroubleFrame& frame, Telling& telling) {
  const Trouble* const trouble = telling.in.troubles.Find(reason);
  if (trouble == nullptr) return false;
  telling.troubles.emplace(reason);
  const bool knows_more = trouble->kind != TroubleKind::kRefused;
  Cause& cause = telling.Add(trouble->kind == TroubleKind::kNameHeld ? Cause::KIND_NAME_HELD : frame.kind,
                             knows_more ? trouble->subject : frame.subject, trouble->words.message,
                             knows_more || frame.advice.empty() ? std::string(AdviceFor(*trouble)) : frame.advice);
  cause.set_since_ms(telling.in.troubles.SinceMs(reason));
  cause.set_until_ms(frame.until_ms);
  return true;
}

void TellObjects(const Wait& wait, Telling& telling) {
  const ExplainInput& in = telling.in;
  for (const std::string& claim : in.missing_claims) TellClaim(claim, telling);
  if (TellTrouble("PluginError", {.kind = wait.kind, .until_ms = in.retry.objects_ms}, telling)) return;
  if (!in.missing_claims.empty()) return;
  telling.Add(wait.kind, wait.subject, wait.message).set_until_ms(in.retry.objects_ms);
}

void TellOtherTroubles(Telling& telling) {
  telling.in.troubles.ForEach([&telling](const Trouble& trouble) {
    if (!telling.troubles.contains(trouble.words.reason)) TellTrouble(trouble.words.reason, {}, telling);
  });
}

void TellStatusWrite(Telling& telling) {
  const ExplainInput& in = telling.in;
  if (!in.status_trouble.message.empty()) {
    telling
        .Add(Cause::KIND_STATUS_WRITE, "",
             fmt::format("the API server refuses the job's status: {}", in.status_trouble.message),
             "Nothing is done before the status is written. It is tried again by itself.")
        .set_until_ms(in.retry.status_ms);
  }
  int told = 0;
  for (const storage::v1::PendingAction& action : in.pending) {
    if (told++ == kMostAlike) {
      telling.Add(Cause::KIND_STATUS_WRITE, "", fmt::format("and {} more actions", in.pending.size() - kMostAlike));
      return;
    }
    Cause& cause =
        telling.Add(Cause::KIND_STATUS_WRITE, action.subject(),
                    fmt::format("{} because of {} is to be written to its status", action.action(), action.event()));
    cause.set_since_ms(action.due_ms() != 0 ? action.due_ms() : action.time_ms());
    cause.set_until_ms(in.retry.status_ms);
  }
}

}  // namespace basalt::jobsvc
