#pragma once

// A port of loopback on which a test waits for connections, which it reads and writes by hand. Blocks. An error of the
// system fails the test. One thread, but any thread may call Stop.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace basalt::http::testing {

inline sockaddr_in LoopbackAddress(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

class LoopbackListener {
 public:
  LoopbackListener() { Open(); }
  ~LoopbackListener() { close(socket_); }
  LoopbackListener(const LoopbackListener&) = delete;
  LoopbackListener& operator=(const LoopbackListener&) = delete;

  uint16_t port() const { return port_; }
  // Waits for the next connection, which the caller must close. Returns -1 if no connection will come.
  int Accept() {
    const int connection = accept(socket_, nullptr, nullptr);
    EXPECT_TRUE(connection >= 0 || stopped_) << "accept: " << strerror(errno);
    return connection;
  }
  // Ends a wait for a connection.
  void Stop() {
    stopped_ = true;
    shutdown(socket_, SHUT_RDWR);
  }

 private:
  void Open() {
    ASSERT_GE(socket_, 0) << "socket: " << strerror(errno);
    sockaddr_in address = LoopbackAddress(0);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    ASSERT_EQ(bind(socket_, any, size), 0) << "bind: " << strerror(errno);
    ASSERT_EQ(listen(socket_, SOMAXCONN), 0) << "listen: " << strerror(errno);
    ASSERT_EQ(getsockname(socket_, any, &size), 0) << "getsockname: " << strerror(errno);
    port_ = ntohs(address.sin_port);
  }

  const int socket_ = socket(AF_INET, SOCK_STREAM, 0);
  uint16_t port_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace basalt::http::testing
