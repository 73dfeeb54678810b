#pragma once

// The http::Client for the real world: libcurl with TLS, HTTP/2, connection reuse. One thread of its own drives all
// transfers; observers are called on the loop given at the start. Calls are made and destroyed on that loop.
#include <memory>
#include <string>

#include "common/exec/loop.h"
#include "common/http/http.h"

namespace basalt::http {

struct CurlOptions {
  std::string base_url;  // "https://10.0.0.1:6443": what a request's target is appended to.
  std::string user_agent = "basalt";

  // TLS. Files are read again for every new connection, so that rotated certificates are picked up; texts are PEM.
  // A text wins over a file. Without any CA the system's store is used.
  std::string ca_file, ca_pem;
  std::string cert_file, cert_pem;
  std::string key_file, key_pem;
  std::string tls_server_name;  // Connects to the URL's address and verifies against this name.
  bool insecure_skip_verify = false;

  // The token of the file wins and is read again when it is older than a minute.
  std::string bearer_token, bearer_token_file;

  bool http2 = true;  // Over TLS, where the server offers it.
  absl::Duration connect_timeout = absl::Seconds(10);
  // Requests with a finite timeout that are under way at once; further ones wait (their timeout runs). Watches
  // (infinite timeout) are not counted.
  size_t max_parallel = 256;
  // A transfer is paused while this much of it waits for the loop.
  size_t high_water = 4 << 20;
};

// Statuses of OnEnd: as ResponseObserver says. A request with a body is never repeated by the library; one without may
// be, on a kept connection that turns out to be dead. Requires: all calls are destroyed before the client, and the
// client before the loop.
std::unique_ptr<Client> MakeCurlClient(Loop& loop, CurlOptions options);

}  // namespace basalt::http
