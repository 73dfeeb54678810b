#pragma once

// How many of what a server has a bounded number of each of its connections has taken. Any thread.
#include <cstddef>
#include <map>
#include <string>

#include "common/base/mutex.h"

namespace basalt::rpc {

class ConnectionShares {
 public:
  // A tenth of the watches that a replica has, unless it is said.
  explicit ConnectionShares(size_t most = 100) : most_(most) {}

  size_t most() const { return most_; }
  // `connection`: as grpc::ServerContextBase::peer() names it. False: it has as many as one may have.
  bool Take(const std::string& connection) BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    size_t& taken = taken_[connection];
    if (taken >= most_) return false;
    ++taken;
    return true;
  }
  void GiveBack(const std::string& connection) BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const auto it = taken_.find(connection);
    if (it != taken_.end() && --it->second == 0) taken_.erase(it);
  }

 private:
  const size_t most_;
  Mutex mutex_;
  std::map<std::string, size_t> taken_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::rpc
