#include "tests/realkube/running.h"

#include <fmt/format.h>

#include <cstdlib>

namespace basalt::realkube {
namespace {

constexpr absl::Duration kLimit = absl::Minutes(1);

}  // namespace

TargetView TargetOf(const http::CurlOptions& server, std::string_view name) {
  const absl::StatusOr<json::value> body = ParseJson(e2e::FetchText(server, "/readyz"));
  const json::value* const targets = body.ok() && body->is_object() ? Find(*body, "targets") : nullptr;
  if (targets == nullptr) return {};
  for (const json::value& target : targets->get_array()) {
    if (FindString(target, "name") != name) continue;
    TargetView view;
    view.ready = Find(target, "ready")->get_bool();
    view.state = FindString(target, "state");
    view.since = FindString(target, "since");
    view.why = FindString(target, "why");
    view.cure = FindString(target, "cure");
    return view;
  }
  return {};
}

std::string TextOf(const TargetView& target) {
  return fmt::format("{} {} since {}: {}; {}", target.ready ? "ready" : "not ready", target.state, target.since,
                     target.why, target.cure);
}

RunningGateway::RunningGateway(const std::string& kubeconfig, std::vector<std::string> flags)
    : port_file_(dir_ / "port") {
  std::vector<std::string> command = {e2e::BinDir() + "/gateway", "--kubeconfig=" + kubeconfig,
                                      "--lease_namespace=basalt-system", "--metrics_port_file=" + port_file_,
                                      "--slow_retry=2s"};
  command.insert(command.end(), flags.begin(), flags.end());
  child_ = std::make_unique<e2e::Child>(command, dir_ / "out", dir_ / "err");
}

http::CurlOptions RunningGateway::pages() const {
  http::CurlOptions server;
  server.base_url = fmt::format("http://127.0.0.1:{}", std::atoi(e2e::ReadFile(port_file_).c_str()));
  return server;
}

bool RunningGateway::Reaches(std::string_view target, std::string_view state) {
  return e2e::Eventually(kLimit, [&] { return Target(target).state == state; });
}

void WriteKubeconfig(const std::string& path, const std::string& server, const std::string& cluster,
                     const std::string& user) {
  e2e::WriteFile(path, fmt::format("apiVersion: v1\n"
                                   "kind: Config\n"
                                   "current-context: c\n"
                                   "contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
                                   "clusters: [{{name: c, cluster: {{server: \"{}\", {}}}}}]\n"
                                   "users: [{{name: u, user: {{{}}}}}]\n",
                                   server, cluster, user));
}

}  // namespace basalt::realkube
