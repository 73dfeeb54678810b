#pragma once

// How one request and the client's options are told to a libcurl handle. Internal to the curl client.
#include <curl/curl.h>

#include <memory>
#include <string>

#include "common/http/curl/curl_client.h"

namespace basalt::http::internal {

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, FreeList>;

// What the handle refers to until the transfer is over; so it does to `options`, `request` and the identity.
struct CurlLists {
  CurlList headers, connect_to;
};

// Everything but the callbacks. `identity` is shown instead of the options' own; null = theirs.
CurlLists SetUpRequest(CURL* easy, const CurlOptions& options, const Request& request, const Identity* identity);

}  // namespace basalt::http::internal
