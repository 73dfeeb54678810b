#pragma once

// Counts the watches of each connection, of which a server has a bounded number. Any thread.
#include <cstddef>
#include <map>
#include <string>

#include "common/base/mutex.h"

namespace basalt::rpc {

class ConnectionShares {
 public:
  // The default is a tenth of the watches that a replica may have.
  explicit ConnectionShares(size_t most = 100) : most_(most) {}

  size_t most() const { return most_; }
  // `connection` is named as by grpc::ServerContextBase::peer(). Returns false if the connection has as many watches as
  // one may have.
  bool Take(const std::string& connection) BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    size_t& taken = taken_[connection];
    if (taken >= most_) return false;
    ++taken;
    return true;
  }
  // Undoes one Take of the connection.
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
