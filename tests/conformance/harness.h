#pragma once

// The harness of the conformance cases. A binary of cases runs against one server, which --server=kubesim|real selects:
// kubesim in this process behind a real loopback port, or a Kubernetes of scripts/realkube. Both servers have our
// definitions, controllers of workloads and collectors of garbage and namespaces, but no kubelet. Each case has a
// namespace of its own.
//
// A case's name states the contract. If the two servers differ on purpose, the case states both values with ByServer,
// and README.md explains the difference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "tests/conformance/client.h"

namespace basalt::conformance {

constexpr char kMerge[] = "application/merge-patch+json";
constexpr char kJsonPatch[] = "application/json-patch+json";
constexpr char kStrategic[] = "application/strategic-merge-patch+json";
constexpr char kApply[] = "application/apply-patch+yaml";

bool IsReal();
// Returns the value that is expected of the server under test.
template <typename T>
T ByServer(T kubesim, T real) {
  return IsReal() ? std::move(real) : std::move(kubesim);
}
// Returns the connection of an administrator that all cases share.
Connection& Server();
// Returns the options for a further connection to the same server, with another user agent, HTTP/1.1, …
http::CurlOptions ConnectionOptions();

// Compacts etcd, so that earlier versions can no longer be read. A watch cache may still have them.
void ForgetHistory();

// Sends a request as an administrator, as do the functions below. A body is sent as application/json unless the headers
// contain another Content-Type.
Answer Send(std::string method, std::string target, std::string body = "", http::Headers headers = {},
            absl::Duration timeout = absl::Seconds(60));
Answer Get(std::string target, http::Headers headers = {});
Answer Post(std::string target, std::string body, http::Headers headers = {});
Answer Put(std::string target, std::string body, http::Headers headers = {});
Answer Patch(std::string target, std::string_view type, std::string body, http::Headers headers = {});
Answer Delete(std::string target, std::string body = "", http::Headers headers = {});

// Returns the query "?key=value&…", with the values escaped.
std::string Query(std::initializer_list<std::pair<std::string_view, std::string_view>> parameters);

class Conformance : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  const std::string& ns() const { return ns_; }
  // Makes another namespace, which is deleted at the end of the case.
  std::string MakeNamespace();

  // The functions below return paths in the case's namespace.
  std::string Core(std::string_view plural, std::string_view name = "") const;
  std::string Group(std::string_view group_version, std::string_view plural, std::string_view name = "") const;
  std::string Configs(std::string_view name = "") const { return Core("configmaps", name); }
  // Cases of lists use Secrets, since a real cluster puts a ConfigMap of its own into every namespace, but no Secret.
  std::string Secrets(std::string_view name = "") const { return Core("secrets", name); }
  std::string Pods(std::string_view name = "") const { return Core("pods", name); }
  std::string Jobs(std::string_view name = "") const { return Group("batch.volcano.sh/v1alpha1", "jobs", name); }

  // Makes an object and expects success, as do the functions below. `labels` and `data` are JSON objects.
  Answer MakeConfig(std::string_view name, std::string_view labels = "{}", std::string_view data = "{}");
  Answer MakeSecret(std::string_view name, std::string_view labels = "{}");
  Answer MakePod(std::string_view name, std::string_view labels = "{}", std::string_view more_spec = "");
  Answer MakeEvent(std::string_view name);
  Answer MakeJob(std::string_view name, std::string_view labels = "{}");

 private:
  std::string ns_;
  std::vector<std::string> namespaces_;
};

std::string ConfigBody(std::string_view name, std::string_view labels = "{}", std::string_view data = "{}");
std::string SecretBody(std::string_view name, std::string_view labels = "{}");
// `more_spec` begins with a comma, as in ,"nodeName":"a"
std::string PodBody(std::string_view name, std::string_view labels = "{}", std::string_view more_spec = "");
std::string JobBody(std::string_view name, std::string_view labels = "{}");

}  // namespace basalt::conformance
