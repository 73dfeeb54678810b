#pragma once

// The identity of a client, where the identity changes while the client runs: a token in a file, or the output of a
// plugin. The identity in force is kept until it expires or a server refuses it with 401. One fetch serves all callers
// that wait.
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
  std::string token;              // The bearer token. Empty if the client has none.
  std::string cert_pem, key_pem;  // The client certificate and its key. Empty if the client has none.
  bool operator==(const Identity&) const = default;
};
using IdentityPtr = std::shared_ptr<const Identity>;

struct FetchedIdentity {
  Identity identity;
  absl::Time expires = absl::InfiniteFuture();
};

// A source of identities. `done` runs once, before Fetch returns or later, on any thread, but not after the source is
// destroyed.
class IdentitySource {
 public:
  using Done = std::function<void(absl::StatusOr<FetchedIdentity>)>;
  virtual ~IdentitySource() = default;
  virtual void Fetch(Done done) = 0;
};

// Any thread. `time` must outlive the object, which uses only Now().
class Credentials {
 public:
  // Gets UNAUTHENTICATED, with the message of the source, if the source gave no identity.
  using Done = std::function<void(absl::StatusOr<IdentityPtr>)>;

  Credentials(const TimeSystem& time, std::unique_ptr<IdentitySource> source);
  // Callers that still wait get an error before the destructor returns, or are not called.
  ~Credentials();
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  // Returns the identity in force. Null if a fetch is needed.
  IdentityPtr Known();
  // Passes the identity in force to `done`: before Get returns if the identity is known, else on the source's thread.
  void Get(const Done& done);
  // Does as Get() after a server answered 401 to `refused`: fetches anew if `refused` is still the known identity.
  void GetOtherThan(const IdentityPtr& refused, const Done& done);

 private:
  void OnFetched(absl::StatusOr<FetchedIdentity> fetched);

  const TimeSystem& time_;
  Mutex mutex_;
  IdentityPtr current_ BASALT_GUARDED_BY(mutex_);
  absl::Time expires_ BASALT_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time fetched_ BASALT_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Status error_ BASALT_GUARDED_BY(mutex_);  // The result of the last fetch.
  int failures_ BASALT_GUARDED_BY(mutex_) = 0;    // Counts the failures in a row.
  bool fetching_ BASALT_GUARDED_BY(mutex_) = false;
  std::vector<Done> waiting_ BASALT_GUARDED_BY(mutex_);
  std::unique_ptr<IdentitySource> source_;  // Is the last member, since its thread calls back.
};

// Returns a source that takes the token from a file, and reads the file again when the token is a minute old. A missing
// or empty file is an error at first. Later the previous token stays in force, since the file is being replaced.
std::unique_ptr<IdentitySource> MakeTokenFileSource(const TimeSystem& time, std::string path);

}  // namespace basalt::http
