// Starts kube-apiserver, etcd and kube-controller-manager. No node runs the pods.
#include <gtest/gtest.h>

#include "tests/coexistence/kube.h"
#include "tests/e2e/writer.h"
#include "tests/realkube/cluster.h"

namespace basalt::coexistence {
namespace {

class Real : public Kubernetes {
 public:
  explicit Real(std::unique_ptr<realkube::Cluster> cluster) : cluster_(std::move(cluster)) {}

  dev::ExternalKube Access() const override {
    dev::ExternalKube kube;
    kube.server = cluster_->kube_server();
    kube.admin_kubeconfig = cluster_->kubeconfig();
    kube.gateway_kubeconfig = cluster_->kubeconfig("gateway");
    return kube;
  }

  std::vector<Write> AllWrites() override {
    std::vector<Write> writes;
    for (const realkube::AuditLine& line : cluster_->Audit()) {
      if (line.user != "system:serviceaccount:basalt-system:basalt-gateway" || line.resource == "events") continue;
      if (!e2e::IsByOwner(line.user_agent)) continue;
      if (line.verb == "get" || line.verb == "list" || line.verb == "watch") continue;
      writes.push_back({line.verb, line.resource, line.subresource, line.name, line.code});
    }
    return writes;
  }

 private:
  const std::unique_ptr<realkube::Cluster> cluster_;
};

}  // namespace

std::unique_ptr<Kubernetes> StartKubernetes(const std::string&) {
  realkube::ClusterOptions options;
  options.kwok = false;
  auto cluster = realkube::Cluster::Start(options);
  if (!cluster.ok()) {
    ADD_FAILURE() << cluster.status();
    return nullptr;
  }
  return std::make_unique<Real>(*std::move(cluster));
}

}  // namespace basalt::coexistence
