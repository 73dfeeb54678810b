#pragma once

// Who a client is, where that changes while it runs: a token in a file, a plugin that is asked. What is in force is
// kept until it expires or is refused with 401; several callers that wait are served by one look.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/time/time_system.h"

namespace basalt::http {

struct Identity {
  std::string token;              // A bearer token; empty = none.
  std::string cert_pem, key_pem;  // A client certificate; empty = none.
  bool operator==(const Identity&) const = default;
};
using IdentityPtr = std::shared_ptr<const Identity>;

struct FetchedIdentity {
  Identity identity;
  absl::Time expires = absl::InfiniteFuture();
};

// Where identities come from. `done` runs once, before Fetch returns or later, on any thread; not after the source is
// destroyed.
class IdentitySource {
 public:
  using Done = std::function<void(absl::StatusOr<FetchedIdentity>)>;
  virtual ~IdentitySource() = default;
  virtual void Fetch(Done done) = 0;
};

// Any thread. `time` outlives it; of it only Now() is used.
class Credentials {
 public:
  // UNAUTHENTICATED where the source gave none; the message is the source's.
  using Done = std::function<void(absl::StatusOr<IdentityPtr>)>;

  Credentials(const TimeSystem& time, std::unique_ptr<IdentitySource> source);
  // Callers that still wait hear an error before it returns, or nothing.
  ~Credentials();
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  // What is in force, where that is known without a look; else null.
  IdentityPtr Known();
  // What is in force. `done` runs before it returns where that is known, else on the source's thread.
  void Get(const Done& done);
  // The server answered 401 to `refused`: what is in force, unless it is that one and so must be looked for.
  void GetOtherThan(const IdentityPtr& refused, const Done& done);

 private:
  void OnFetched(absl::StatusOr<FetchedIdentity> fetched);

  const TimeSystem& time_;
  Mutex mutex_;
  IdentityPtr current_ BASALT_GUARDED_BY(mutex_);
  absl::Time expires_ BASALT_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time fetched_ BASALT_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Status error_ BASALT_GUARDED_BY(mutex_);  // Of the last look.
  int failures_ BASALT_GUARDED_BY(mutex_) = 0;    // In a row.
  bool fetching_ BASALT_GUARDED_BY(mutex_) = false;
  std::vector<Done> waiting_ BASALT_GUARDED_BY(mutex_);
  std::unique_ptr<IdentitySource> source_;  // Last: its thread calls back.
};

// The token in a file, read again when it is a minute old. A file that is missing or empty is an error at first; later
// the token before it goes on: the file is being replaced.
std::unique_ptr<IdentitySource> MakeTokenFileSource(const TimeSystem& time, std::string path);

}  // namespace basalt::http
