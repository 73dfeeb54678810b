#pragma once

// The http::Client for the real world: libcurl with TLS, HTTP/2 and reuse of connections. The client's own threads
// drive all transfers; observers are called on the loop that the client was made for. Calls are made and destroyed on
// that loop.
#include <memory>
#include <optional>
#include <string>

#include "common/exec/loop.h"
#include "common/http/credentials/exec_plugin.h"
#include "common/http/http.h"
#include "common/time/token_bucket.h"

namespace basalt::http {

struct CurlOptions {
  std::string base_url;  // "https://10.0.0.1:6443". A request's target is appended to it.
  std::string user_agent = "basalt";
  Headers headers;  // The headers that every request gets, as for impersonation.

  // TLS has at least version 1.2. Files are read again for every new connection, so that rotated certificates are
  // picked up. Texts are PEM. A text wins over a file. Without any CA the system's store is used.
  std::string ca_file, ca_pem;
  std::string cert_file, cert_pem;
  std::string key_file, key_pem;
  std::string tls_server_name;  // Verifies the server at the URL's address by this name. Empty means the URL's host.
  bool insecure_skip_verify = false;

  // The plugin wins over the file, the file over the text. The file is read again when the token is older than a
  // minute. After an answer of 401 the identity is fetched again at once. If it has changed, the request goes out once
  // more.
  std::string bearer_token, bearer_token_file;
  std::optional<ExecPlugin> exec_plugin;

  // An http, https or socks5 URL. Empty if there is no proxy. The caller reads the environment (proxy.h). The same CA
  // verifies an https proxy.
  std::string proxy_url;

  bool http2 = true;  // Allows HTTP/2 over TLS, if the server offers it.
  absl::Duration connect_timeout = absl::Seconds(10);
  // A connection on which nothing came for `probe_after` is probed (TCP keep-alive). If the peer acknowledges neither
  // probes nor data for `dead_after`, the connection is cut, and its requests end as UNKNOWN.
  absl::Duration probe_after = absl::Seconds(15);
  absl::Duration dead_after = absl::Seconds(30);
  // Limits the requests with a finite timeout that are under way at once. Further requests wait while their timeout
  // runs. Watches (infinite timeout) do not count.
  size_t max_parallel = 256;
  // A transfer pauses while so many bytes of it wait for the loop.
  size_t high_water = 4 << 20;
  // Limits how often the client wakes up for answers that keep coming; after a rest it wakes up for the first ones at
  // once. A wake-up for each answer would cost more than the answer. A request goes out at once, and the bytes that
  // have come by then are read with it.
  TokenBucketOptions wakeups;
};

// Bulk requests have their own connections and thread. A request that exceeds one of its two timeouts takes its
// connection with it if nothing at all has come on the connection for a third of `dead_after`. The server never gets
// the part of the request that it has not received by then.
//
// ResponseObserver describes the statuses of OnEnd, which contain a Failure (failure.h). UNAVAILABLE with kCredentials
// means that no identity could be fetched. A request with a body is sent again only if the server surely has not looked
// at it (GOAWAY and REFUSED_STREAM of HTTP/2). A request without a body is sent again also after a kept connection
// turns out to be dead. Requires: all calls are destroyed before the client, and the client before the loop.
std::unique_ptr<Client> MakeCurlClient(Loop& loop, CurlOptions options);

}  // namespace basalt::http
