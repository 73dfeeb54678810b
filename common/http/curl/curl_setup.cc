#include "common/http/curl/curl_setup.h"

#include <fmt/format.h>

#include <string_view>

namespace basalt::http::internal {
namespace {

void SetPem(CURL* easy, CURLoption option, const std::string& text) {
  curl_blob pem{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
  curl_easy_setopt(easy, option, &pem);
}

void SetUpTls(CURL* easy, const CurlOptions& options, const Identity* identity) {
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy, CURLOPT_PROXY_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  // A resumed session would keep the identity and the verdict from before the files changed.
  curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
  if (!options.ca_pem.empty()) {
    SetPem(easy, CURLOPT_CAINFO_BLOB, options.ca_pem);
    SetPem(easy, CURLOPT_PROXY_CAINFO_BLOB, options.ca_pem);
  } else if (!options.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file.c_str());
    curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO, options.ca_file.c_str());
    // By default libcurl keeps a parsed file for a day.
    curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
  }
  if (identity != nullptr && !identity->cert_pem.empty()) {
    SetPem(easy, CURLOPT_SSLCERT_BLOB, identity->cert_pem);
    SetPem(easy, CURLOPT_SSLKEY_BLOB, identity->key_pem);
  } else if (!options.cert_pem.empty()) {
    SetPem(easy, CURLOPT_SSLCERT_BLOB, options.cert_pem);
  } else if (!options.cert_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_SSLCERT, options.cert_file.c_str());
  }
  if (identity != nullptr && !identity->cert_pem.empty()) {
    // The key is set together with the certificate above.
  } else if (!options.key_pem.empty()) {
    SetPem(easy, CURLOPT_SSLKEY_BLOB, options.key_pem);
  } else if (!options.key_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_SSLKEY, options.key_file.c_str());
  }
  if (options.insecure_skip_verify) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
}

}  // namespace

CurlLists SetUpRequest(CURL* easy, const CurlOptions& options, const Request& request, const Identity* identity) {
  CurlLists lists;
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  std::string url = options.base_url + request.target;
  if (!options.tls_server_name.empty()) {
    // "::address:port" connects there whatever host the URL names. The certificate must contain the URL's host.
    const size_t scheme = options.base_url.find("://");
    const std::string address = options.base_url.substr(scheme == std::string::npos ? 0 : scheme + 3);
    const size_t colon = address.rfind(':');
    const bool has_port = colon != std::string::npos && address.find(']', colon) == std::string::npos;
    const std::string port = has_port ? address.substr(colon + 1) : "443";
    const std::string connect = fmt::format("::{}:{}", address.substr(0, has_port ? colon : address.size()), port);
    curl_slist* list = curl_slist_append(nullptr, connect.c_str());
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, list);
    lists.connect_to.reset(list);
    url = fmt::format("https://{}:{}{}", options.tls_server_name, port, request.target);
  }
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(options.connect_timeout)));
  const bool tls = options.base_url.starts_with("https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                   static_cast<long>(options.http2 && tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  if (options.http2 && tls) curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  // Always set the proxy: else libcurl reads the environment, by its own rules.
  const std::string_view proxy = options.proxy_url;
  const bool socks = proxy.starts_with("socks5://");
  const std::string proxy_url = socks ? fmt::format("socks5h{}", proxy.substr(6)) : std::string(proxy);
  curl_easy_setopt(easy, CURLOPT_PROXY, proxy_url.c_str());
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (tls) SetUpTls(easy, options, identity);
  if (request.compressed) curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");

  // Send no "Expect: 100-continue", which costs a round trip.
  curl_slist* headers = curl_slist_append(nullptr, "Expect:");
  for (const Headers* list : {&request.headers, &options.headers}) {
    for (const auto& [name, value] : *list) {
      headers = curl_slist_append(headers, fmt::format("{}: {}", name, value).c_str());
    }
  }
  const std::string& token = identity != nullptr ? identity->token : options.bearer_token;
  if (!token.empty()) headers = curl_slist_append(headers, ("Authorization: Bearer " + token).c_str());
  lists.headers.reset(headers);
  if (!request.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  } else if (request.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (request.method == "POST" || request.method == "PUT" || request.method == "PATCH") {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, 0L);
  }
  if (request.method != "GET" && request.method != "HEAD") {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  } else if (request.method == "GET" && !request.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "GET");
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, lists.headers.get());
  return lists;
}

}  // namespace basalt::http::internal
