#pragma once

// A connection to a port of loopback, which a test reads and writes by hand. An error of the system fails the test.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "common/http/testing/loopback_listener.h"

namespace basalt::http::testing {

// Blocks for `patience` at most, which is ten seconds by default. One thread.
class RawConnection {
 public:
  explicit RawConnection(uint16_t port, timeval patience = {.tv_sec = 10, .tv_usec = 0}) {
    sockaddr_in address = LoopbackAddress(port);
    EXPECT_GE(socket_, 0) << strerror(errno);
    EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << strerror(errno);
  }
  ~RawConnection() { close(socket_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  void Send(std::string_view text) {
    EXPECT_EQ(send(socket_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Makes the connection end with a reset, which frees its ports at once.
  void EndWithReset() {
    const linger reset{.l_onoff = 1, .l_linger = 0};
    EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
  }
  // Reads until the peer closes the connection. The text ends in "timed out" if the peer did not.
  std::string ReadToEnd() {
    std::string all;
    char buffer[4096];
    while (true) {
      const ssize_t got = recv(socket_, buffer, sizeof buffer, 0);
      if (got > 0) {
        all.append(buffer, static_cast<size_t>(got));
      } else if (got < 0 && errno == EINTR) {
        continue;
      } else {
        return got < 0 && errno == EAGAIN ? all + "timed out" : all;
      }
    }
  }

 private:
  const int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

}  // namespace basalt::http::testing
