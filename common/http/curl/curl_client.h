#pragma once

// The http::Client for the real world: libcurl with TLS, HTTP/2, connection reuse. Threads of its own drive all
// transfers; observers are called on the loop given at the start. Calls are made and destroyed on that loop.
#include <memory>
#include <optional>
#include <string>

#include "common/exec/loop.h"
#include "common/http/credentials/exec_plugin.h"
#include "common/http/http.h"
#include "common/time/token_bucket.h"

namespace basalt::http {

struct CurlOptions {
  std::string base_url;  // "https://10.0.0.1:6443": what a request's target is appended to.
  std::string user_agent = "basalt";
  Headers headers;  // Of every request: whom it is made for (impersonation).

  // TLS, at least 1.2. Files are read again for every new connection, so that rotated certificates are picked up; texts
  // are PEM. A text wins over a file. Without any CA the system's store is used.
  std::string ca_file, ca_pem;
  std::string cert_file, cert_pem;
  std::string key_file, key_pem;
  std::string tls_server_name;  // Connects to the URL's address and verifies against this name.
  bool insecure_skip_verify = false;

  // The plugin wins over the file, the file over the text. The file is read again when it is older than a minute. What
  // the server answers 401 to is looked for again at once, and where there is another the request goes out once more.
  std::string bearer_token, bearer_token_file;
  std::optional<ExecPlugin> exec_plugin;

  // An http, https or socks5 URL; empty: none. The environment is the caller's to ask: proxy.h. An https proxy is
  // verified by the same CA.
  std::string proxy_url;

  bool http2 = true;  // Over TLS, where the server offers it.
  absl::Duration connect_timeout = absl::Seconds(10);
  // A connection on which nothing came for `probe_after` is probed (TCP keep-alive); one whose peer is silent for
  // `dead_after`, to probes or to what was sent, is cut, and what went over it ends as UNKNOWN.
  absl::Duration probe_after = absl::Seconds(15);
  absl::Duration dead_after = absl::Seconds(30);
  // Requests with a finite timeout that are under way at once; further ones wait (their timeout runs). Watches
  // (infinite timeout) are not counted.
  size_t max_parallel = 256;
  // A transfer is paused while this much of it waits for the loop.
  size_t high_water = 4 << 20;
  // While answers and parts of them keep coming, they are taken in so often a second; after a rest the first ones at
  // once. To wake for each costs more than the answer does. A request goes out at once, and what has come by then is
  // taken in with it.
  TokenBucketOptions wakeups;
};

// Bulk requests have connections and a thread of their own. A request that runs out of one of its two timeouts takes
// its connection with it where nothing at all has come on that for a third of `dead_after`; what the server has not
// taken of it by then it never gets.
//
// Statuses of OnEnd: as ResponseObserver says, with failure.h's names; UNAVAILABLE with kCredentials where there is
// nothing to show. A request with a body is sent again only where the server surely has not looked at it (GOAWAY and
// REFUSED_STREAM of HTTP/2); one without may be on a kept connection that turns out to be dead, too. Requires: all
// calls are destroyed before the client, and the client before the loop.
std::unique_ptr<Client> MakeCurlClient(Loop& loop, CurlOptions options);

}  // namespace basalt::http
