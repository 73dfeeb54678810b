#pragma once

// What the conformance cases share. A binary of cases runs against one server, which --server=kubesim|real names:
// kubesim in this process behind a real loopback port, or a Kubernetes of scripts/realkube; our definitions are in
// both, workloads get pods, nobody runs pods, garbage and namespaces are collected. Each case has a namespace of its
// own.
//
// A case says what the contract is in its name. Where a difference between the two is meant, the case states both with
// ByServer, and README.md has a line of why.
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
// What is expected of kubesim, and of the real server.
template <typename T>
T ByServer(T kubesim, T real) {
  return IsReal() ? std::move(real) : std::move(kubesim);
}
// The connection of an administrator that all cases use.
Connection& Server();
// How to make another one to the same server: another user agent, HTTP/1.1, …
http::CurlOptions ConnectionOptions();

// Whatever has happened so far can be asked for no more: etcd is compacted. A watch cache may still have it.
void ForgetHistory();

// Requests as an administrator. A body goes as application/json unless the headers say otherwise.
Answer Send(std::string method, std::string target, std::string body = "", http::Headers headers = {},
            absl::Duration timeout = absl::Seconds(60));
Answer Get(std::string target, http::Headers headers = {});
Answer Post(std::string target, std::string body, http::Headers headers = {});
Answer Put(std::string target, std::string body, http::Headers headers = {});
Answer Patch(std::string target, std::string_view type, std::string body, http::Headers headers = {});
Answer Delete(std::string target, std::string body = "", http::Headers headers = {});

// "key=value" pairs as they stand in a query, the values escaped.
std::string Query(std::initializer_list<std::pair<std::string_view, std::string_view>> parameters);

class Conformance : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  const std::string& ns() const { return ns_; }
  // Another namespace, deleted with the case.
  std::string MakeNamespace();

  // Paths in the case's namespace.
  std::string Core(std::string_view plural, std::string_view name = "") const;
  std::string Group(std::string_view group_version, std::string_view plural, std::string_view name = "") const;
  std::string Configs(std::string_view name = "") const { return Core("configmaps", name); }
  // The kind for lists: a real cluster puts a ConfigMap of its own into every namespace, and no Secret.
  std::string Secrets(std::string_view name = "") const { return Core("secrets", name); }
  std::string Pods(std::string_view name = "") const { return Core("pods", name); }
  std::string Jobs(std::string_view name = "") const { return Group("batch.volcano.sh/v1alpha1", "jobs", name); }

  // Makes one and expects that it was made. `labels` and `data` are JSON objects.
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
// `more_spec` begins with a comma: ,"nodeName":"a"
std::string PodBody(std::string_view name, std::string_view labels = "{}", std::string_view more_spec = "");
std::string JobBody(std::string_view name, std::string_view labels = "{}");

}  // namespace basalt::conformance
