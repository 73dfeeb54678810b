// Starts kubesim without its nodes and its scheduler.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/coexistence/kube.h"
#include "tests/e2e/harness.h"

namespace basalt::coexistence {
namespace {

class Simulated : public Kubernetes {
 public:
  explicit Simulated(const std::string& dir)
      : kubeconfig_(dir + "/kubeconfig"),
        port_file_(dir + "/port"),
        child_({e2e::BinDir() + "/kubesim", "--port_file=" + port_file_, "--kubeconfig_out=" + kubeconfig_,
                "--crds=" BASALT_SOURCE_DIR "/deploy/crds", "--no_queues", "--no_node", "--no_scheduler"},
               dir + "/kubesim.out", dir + "/kubesim.err") {
    EXPECT_TRUE(e2e::Eventually(absl::Seconds(30), [&] { return !e2e::ReadFile(port_file_).empty(); }));
    port_ = std::atoi(e2e::ReadFile(port_file_).c_str());
  }

  dev::ExternalKube Access() const override {
    dev::ExternalKube kube;
    kube.server = fmt::format("http://127.0.0.1:{}", port_);
    kube.admin_kubeconfig = kube.gateway_kubeconfig = kubeconfig_;
    kube.lease_namespace = "default";
    return kube;
  }

  std::vector<Write> AllWrites() override {
    std::vector<Write> writes;
    const json::value log = Get("/kubesim/log");
    const json::value* requests = log.is_object() ? Find(log, "requests") : nullptr;
    if (requests == nullptr) {
      ADD_FAILURE() << "kubesim's log cannot be read";
      return writes;
    }
    for (const json::value& request : requests->get_array()) {
      if (!e2e::IsByOwner(FindString(request, "userAgent")) || FindString(request, "resource") == "events") {
        continue;
      }
      writes.push_back({std::string(FindString(request, "verb")), std::string(FindString(request, "resource")),
                        std::string(FindString(request, "subresource")), std::string(FindString(request, "name")),
                        static_cast<int>(FindInt(request, "status"))});
    }
    return writes;
  }

 private:
  const std::string kubeconfig_, port_file_;
  e2e::Child child_;
  int port_ = 0;
};

}  // namespace

std::unique_ptr<Kubernetes> StartKubernetes(const std::string& dir) { return std::make_unique<Simulated>(dir); }

}  // namespace basalt::coexistence
