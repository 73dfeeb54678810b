// Target: a kubeconfig. Whatever it contains, no header field of a request has a line break.
#include <string_view>

#include "common/http/kubeconfig/kubeconfig.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace basalt;  // NOLINT: one function.
  const auto options = http::ParseKubeconfig(fuzz::TextOf(data, size), "/etc/kube");
  if (!options.ok()) return 0;
  const auto is_one_line = [](std::string_view text) { return text.find_first_of("\r\n") == std::string_view::npos; };
  fuzz::Require(is_one_line(options->bearer_token), "a token is one line");
  for (const auto& [name, value] : options->headers) {
    fuzz::Require(is_one_line(name) && is_one_line(value), "a header is one line");
  }
  return 0;
}
