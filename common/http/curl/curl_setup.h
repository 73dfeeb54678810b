#pragma once

// Sets one request and the client's options on a libcurl handle. Internal to the curl client.
#include <curl/curl.h>

#include <memory>
#include <string>

#include "common/http/curl/curl_client.h"

namespace basalt::http::internal {

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, FreeList>;

// The lists that the curl handle points into. They, `options`, `request` and the identity must outlive the transfer.
struct CurlLists {
  CurlList headers, connect_to;
};

// Sets everything but the callbacks. `identity` replaces the token and certificate of the options, unless it is null.
CurlLists SetUpRequest(CURL* easy, const CurlOptions& options, const Request& request, const Identity* identity);

}  // namespace basalt::http::internal
