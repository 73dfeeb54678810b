#include "common/rpc/grpc/certificate_watch.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/exec/run_on.h"
#include "common/identity/denied.h"
#include "common/obs/log.h"
#include "common/rpc/grpc/users.h"

namespace basalt::rpc {
namespace {

constexpr std::string_view kTarget = "certificate";
constexpr absl::Duration kSoon = absl::Hours(24 * 7);
constexpr char kCure[] = "put a new certificate with its key into the files of --tls_cert_file and --tls_key_file";

std::string ToText(absl::Time time) { return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone()); }

}  // namespace

obs::Health::Condition ConditionOf(const absl::Status& files, absl::Time from, absl::Time end, absl::Time now) {
  if (end <= now) {
    return {.ready = false,
            .state = "expired",
            .why = fmt::format("the certificate has ended at {}", ToText(end)),
            .cure = kCure};
  }
  if (from > now) {
    return {.ready = false,
            .state = "not_yet_valid",
            .why = fmt::format("the certificate counts from {} on", ToText(from)),
            .cure = "compare the clocks of this machine and of whoever issues certificates"};
  }
  // Open connections stay open, and the next look may find better files.
  if (!files.ok()) {
    return {.ready = true, .state = "unusable", .why = std::string(ToStd(files.message())), .cure = kCure};
  }
  if (end <= now + kSoon) {
    return {.ready = true,
            .state = "ends_soon",
            .why = fmt::format("the certificate ends at {}", ToText(end)),
            .cure = kCure};
  }
  return {.ready = true, .state = "ready", .why = "", .cure = ""};
}

absl::StatusOr<std::unique_ptr<CertificateWatch>> CertificateWatch::Start(Loop& loop, const Credentials* credentials,
                                                                          std::shared_ptr<CallGuard> guard,
                                                                          obs::Metrics& metrics, obs::Health& health,
                                                                          UseFiles use_files) {
  if (guard == nullptr) return nullptr;
  std::unique_ptr<CertificateWatch> watch(
      new CertificateWatch(loop, *credentials, std::move(guard), metrics, health, std::move(use_files)));
  absl::Status denied;
  RunOn(loop, [&] {
    denied = watch->ReadDenied();
    if (denied.ok()) watch->Look();
  });
  BASALT_RETURN_IF_ERROR(denied);
  return watch;
}

CertificateWatch::CertificateWatch(Loop& loop, const Credentials& credentials, std::shared_ptr<CallGuard> guard,
                                   obs::Metrics& metrics, obs::Health& health, UseFiles use_files)
    : loop_(loop),
      files_(*credentials.files()),
      rules_(*credentials.rules()),
      self_(*credentials.self()),
      guard_(std::move(guard)),
      health_(health),
      use_files_(std::move(use_files)),
      end_(metrics.GetGauge("basalt_certificate_end_timestamp_seconds",
                            "When the certificate of this process ends; 0: its files cannot be used.")),
      is_denied_list_read_(metrics.GetGauge("basalt_denied_identities_read",
                                            "1: --denied_identities_file is in force as it is on the disk.")) {}

CertificateWatch::~CertificateWatch() {
  RunOn(loop_, [this] { loop_.Cancel(std::exchange(timer_, kNoTimer)); });
}

void CertificateWatch::Look() {
  const absl::Status files = ReadCertificate();
  end_.Set(files.ok() ? absl::ToDoubleSeconds(until_ - absl::UnixEpoch()) : 0);
  obs::Health::Condition condition = ConditionOf(files, from_, until_, loop_.Now());
  const absl::Status denied = ReadDenied();
  is_denied_list_read_.Set(denied.ok() ? 1 : 0);
  if (!denied.ok() && condition.ready) {
    condition = {.ready = true,
                 .state = "denied_list_unusable",
                 .why = std::string(ToStd(denied.message())),
                 .cure = "correct the file of --denied_identities_file; the list of before stays in force"};
  }
  if (std::exchange(said_, condition.state) != condition.state && condition.state != "ready") {
    obs::LogWarning("certificate", {{"state", condition.state}, {"why", condition.why}, {"cure", condition.cure}});
  }
  health_.Set(kTarget, std::move(condition));
  timer_ = loop_.RunAfter(files_.refresh, [this] { Look(); });
}

absl::Status CertificateWatch::ReadCertificate() {
  BASALT_ASSIGN_OR_RETURN(CheckedFiles checked, CheckFiles(files_));
  const absl::StatusOr<identity::Identity> now = rules_.IdentityOf(checked.facts.uris);
  if (!now.ok()) return Invalid(fmt::format("{}: {}", files_.certificate, ToStd(now.status().message())));
  if (*now != self_) {
    return Invalid(fmt::format("{}: the certificate is that of {}, and this process is {}", files_.certificate,
                               identity::UriOf(*now), identity::UriOf(self_)));
  }
  if (guard_->users() != nullptr) {
    BASALT_ASSIGN_OR_RETURN(const std::string authorities, identity::ReadSmallFile(files_.authorities));
    BASALT_ASSIGN_OR_RETURN(std::shared_ptr<const identity::Authorities> read,
                            identity::Authorities::FromPem(authorities));
    guard_->users()->SetSuite(std::move(read));
    guard_->users()->SetOwn(checked.own);
  }
  from_ = checked.facts.not_before;
  until_ = checked.facts.not_after;
  if (checked.own.certificate_pem == certificate_) return absl::OkStatus();
  if (const absl::Status used = use_files_(checked.own); !used.ok()) {
    return Invalid(fmt::format("{}: {}", files_.certificate, ToStd(used.message())));
  }
  certificate_ = std::move(checked.own.certificate_pem);
  return absl::OkStatus();
}

absl::Status CertificateWatch::ReadDenied() {
  if (files_.denied.empty()) return absl::OkStatus();
  BASALT_ASSIGN_OR_RETURN(std::string text, identity::ReadSmallFile(files_.denied));
  if (text == denied_) return absl::OkStatus();
  absl::StatusOr<identity::DeniedUris> denied = identity::ParseDenied(text);
  if (!denied.ok()) return Invalid(fmt::format("{}: {}", files_.denied, ToStd(denied.status().message())));
  for (const std::string& uri : *denied) {
    if (uri.starts_with("user:")) continue;
    if (const absl::Status nobody = rules_.IdentityOf({uri}).status(); !nobody.ok()) {
      obs::LogWarning("a denied identity is nobody's", {{"identity", Excerpt(uri, 300)}, {"why", nobody.ToString()}});
    }
  }
  obs::LogInfo("identities are denied", {{"count", fmt::to_string(denied->size())}});
  guard_->SetDenied(*std::move(denied));
  denied_ = std::move(text);
  return absl::OkStatus();
}

}  // namespace basalt::rpc
