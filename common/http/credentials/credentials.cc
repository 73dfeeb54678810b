#include "common/http/credentials/credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "common/base/status.h"

namespace basalt::http {
namespace {

constexpr absl::Duration kTokenFileAge = absl::Minutes(1);
// An identity that expires within this time is renewed already.
constexpr absl::Duration kMargin = absl::Seconds(10);
// A source is called at most once in this time, and after failures not before 1, 2, 4 … 30 s.
constexpr absl::Duration kLeastAge = absl::Seconds(1);
constexpr absl::Duration kMostPause = absl::Seconds(30);

std::string_view Trim(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

class TokenFileSource final : public IdentitySource {
 public:
  TokenFileSource(const TimeSystem& time, std::string path) : time_(time), path_(std::move(path)) {}

  void Fetch(Done done) override {
    std::ifstream file(path_);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (const std::string_view token = Trim(text); !token.empty()) token_ = token;
    if (token_.empty()) {
      return done(MakeStatus(absl::StatusCode::kUnauthenticated, fmt::format("no token in the file '{}'", path_)));
    }
    done(FetchedIdentity{{.token = token_}, time_.Now() + kTokenFileAge});
  }

 private:
  const TimeSystem& time_;
  const std::string path_;
  std::string token_;
};

}  // namespace

Credentials::Credentials(const TimeSystem& time, std::unique_ptr<IdentitySource> source)
    : time_(time), source_(std::move(source)) {}

Credentials::~Credentials() { source_.reset(); }

IdentityPtr Credentials::Known() {
  MutexLock lock(mutex_);
  return time_.Now() < expires_ - kMargin ? current_ : nullptr;
}

void Credentials::Get(const Done& done) { GetOtherThan(nullptr, done); }

void Credentials::GetOtherThan(const IdentityPtr& refused, const Done& done) {
  IdentityPtr known;
  absl::Status error;
  bool fetch = false;
  {
    MutexLock lock(mutex_);
    const absl::Time now = time_.Now();
    const absl::Duration pause =
        failures_ == 0 ? kLeastAge : std::min(kMostPause, kLeastAge * (1LL << std::min(failures_ - 1, 5)));
    const bool rested = now - fetched_ >= pause;
    const bool good = current_ != nullptr && current_ != refused && now < expires_ - kMargin;
    if (good || (!fetching_ && !rested)) {
      // An identity that is about to expire or was refused is better than calls of the source without end.
      if (current_ != nullptr && (error_.ok() || now < expires_)) known = current_;
      error = error_;
    } else {
      waiting_.push_back(done);
      fetch = !std::exchange(fetching_, true);
    }
  }
  if (known != nullptr) return done(std::move(known));
  if (!error.ok()) return done(error);
  if (fetch) source_->Fetch([this](absl::StatusOr<FetchedIdentity> fetched) { OnFetched(std::move(fetched)); });
}

void Credentials::OnFetched(absl::StatusOr<FetchedIdentity> fetched) {
  absl::StatusOr<IdentityPtr> result = IdentityPtr();
  std::vector<Done> waiting;
  {
    MutexLock lock(mutex_);
    fetching_ = false;
    fetched_ = time_.Now();
    waiting.swap(waiting_);
    if (fetched.ok()) {
      failures_ = 0;
      error_ = absl::OkStatus();
      expires_ = fetched->expires;
      // An equal identity keeps its pointer, so that a client to whom a server refused it does not try again.
      if (current_ == nullptr || !(*current_ == fetched->identity)) {
        current_ = std::make_shared<const Identity>(std::move(fetched->identity));
      }
      result = current_;
    } else {
      ++failures_;
      error_ = MakeStatus(absl::StatusCode::kUnauthenticated, ToStd(fetched.status().message()));
      result = error_;
      // An identity that has not expired stays in force.
      if (current_ != nullptr && fetched_ < expires_) result = current_;
    }
  }
  for (const Done& done : waiting) done(result);
}

std::unique_ptr<IdentitySource> MakeTokenFileSource(const TimeSystem& time, std::string path) {
  return std::make_unique<TokenFileSource>(time, std::move(path));
}

}  // namespace basalt::http
