#include "common/rpc/metrics_token.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/identity/certificate.h"
#include "common/obs/log.h"

namespace basalt::rpc {

absl::StatusOr<std::unique_ptr<MetricsToken>> MetricsToken::FromFile(const std::string& path, absl::Duration refresh) {
  std::unique_ptr<MetricsToken> token(new MetricsToken(path, refresh));
  BASALT_RETURN_IF_ERROR(token->Read());
  return token;
}

bool MetricsToken::IsIn(std::string_view authorization, absl::Time now) {
  if (now >= read_at_ + refresh_) {
    read_at_ = now;
    std::string why(ToStd(Read().message()));
    if (why != said_ && !why.empty()) {
      obs::LogWarning("--metrics_token_file cannot be used, and the token of before stays in force", {{"why", why}});
    }
    said_ = std::move(why);
  }
  constexpr std::string_view kScheme = "Bearer ";
  if (!absl::StartsWithIgnoreCase(ToAbsl(authorization), ToAbsl(kScheme))) return false;
  const std::string_view shown = authorization.substr(kScheme.size());
  // The comparison takes the same time wherever the two differ, so that its duration gives nothing away.
  return shown.size() == token_.size() && CRYPTO_memcmp(shown.data(), token_.data(), token_.size()) == 0;
}

absl::Status MetricsToken::Read() {
  BASALT_ASSIGN_OR_RETURN(const std::string text, identity::ReadSmallFile(path_));
  std::string token(absl::StripAsciiWhitespace(text));
  if (token.empty()) return Invalid(fmt::format("{}: has no token, but white space alone", path_));
  token_ = std::move(token);
  return absl::OkStatus();
}

}  // namespace basalt::rpc
