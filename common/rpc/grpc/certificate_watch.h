#pragma once

// Watches the certificate of a process while it runs. A certificate that ends soon, has ended, or does not belong to
// its key is reported in readiness, metrics and the log before the first handshake fails. Hands new files to servers
// that do not read them themselves. Also reads the list of denied identities again (common/identity/denied.h).
//
// Heavy (gRPC): only in .cc files.
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/exec/loop.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"
#include "common/rpc/grpc/call_guard.h"
#include "common/rpc/grpc/credentials.h"

namespace basalt::rpc {

// Returns the readiness of a process whose certificate is valid from `from` to `end`. In the last week of the
// certificate the process is ready, and readiness names the end; before `from` and from `end` on the process is not
// ready. `files` states whether the files on the disk can be used; while they cannot, `from` and `end` are those of the
// previous certificate. Pure.
obs::Health::Condition ConditionOf(const absl::Status& files, absl::Time from, absl::Time end, absl::Time now);

class CertificateWatch {
 public:
  // Puts certificate and key of the process into use, and does not block. Not OK if they cannot be used; the previous
  // ones stay in force then.
  using UseFiles = std::function<absl::Status(const identity::KeyPair& own)>;

  // Looks once, and then every TlsFiles::refresh, on `loop`. Calls `use_files` there with each certificate that belongs
  // to its key and states the identity of the process: with the first one, with each new one, and again with one for
  // which `use_files` failed. Call and destroy the watch on any other thread, while `loop` runs; all references outlive
  // the watch. Null if `guard` is null: the process has no TLS. INVALID_ARGUMENT names the line of the list of denied
  // identities and the rule.
  static absl::StatusOr<std::unique_ptr<CertificateWatch>> Start(Loop& loop, const Credentials* credentials,
                                                                 std::shared_ptr<CallGuard> guard,
                                                                 obs::Metrics& metrics, obs::Health& health,
                                                                 UseFiles use_files);
  ~CertificateWatch();

 private:
  CertificateWatch(Loop& loop, const Credentials& credentials, std::shared_ptr<CallGuard> guard, obs::Metrics& metrics,
                   obs::Health& health, UseFiles use_files);

  void Look();
  // Keeps the times of the certificate, and hands the files on if they can be used and state the identity of the
  // process.
  absl::Status ReadCertificate();
  absl::Status ReadDenied();

  Loop& loop_;
  const TlsFiles files_;
  const identity::IdentityRules rules_;
  const identity::Identity self_;
  const std::shared_ptr<CallGuard> guard_;
  obs::Health& health_;
  const UseFiles use_files_;
  obs::Gauge& end_;
  obs::Gauge& is_denied_list_read_;
  absl::Time from_ = absl::InfinitePast();
  absl::Time until_ = absl::InfiniteFuture();
  std::string certificate_;  // The certificate that `use_files_` has put into use.
  std::string denied_;       // The text of the list that is in force.
  std::string said_;         // The state that was last logged.
  TimerId timer_ = kNoTimer;
};

}  // namespace basalt::rpc
