#include "tests/realkube/admission_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <utility>

#include "common/testing/status_matchers.h"
#include "tests/e2e/harness.h"

namespace basalt::realkube {

using conformance::Answer;
using crds::Case;

namespace {

constexpr std::string_view kNamespace = "default";

std::string PathOf(const json::value& object) {
  return fmt::format("{}/{}", crds::CollectionOf(object, kNamespace), conformance::NameOf(object));
}

}  // namespace

std::unique_ptr<AdmissionServer> AdmissionServer::Start(const std::string& definitions) {
  auto server = std::make_unique<AdmissionServer>();
  auto cluster = Cluster::Start({.nodes = 0, .crds = definitions, .kwok = false});
  EXPECT_THAT(cluster, basalt::testing::IsOk());
  if (!cluster.ok()) return nullptr;
  server->cluster_ = *std::move(cluster);
  server->ours_ = definitions.empty();
  http::CurlOptions options;
  options.base_url = server->cluster_->kube_server();
  options.ca_file = server->cluster_->dir() + "/pki/ca.crt";
  options.cert_file = server->cluster_->dir() + "/pki/admin.crt";
  options.key_file = server->cluster_->dir() + "/pki/admin.key";
  server->connection_ = std::make_unique<conformance::Connection>(options);
  return server;
}

void AdmissionServer::Apply(std::string_view folder) {
  EXPECT_THAT(cluster_->Kubectl({"apply", "-f", fmt::format("{}{}", BASALT_SOURCE_DIR, folder)}),
              basalt::testing::IsOk());
}

Answer AdmissionServer::Send(std::string method, std::string target, const json::value& body, std::string type) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.headers = {{"Content-Type", std::move(type)}};
  if (!body.is_null()) request.body = ToText(body);
  // On a busy server, the policies may learn of a new definition some seconds later than the other handlers. The server
  // then answers 503.
  Answer answer;
  e2e::Eventually(absl::Seconds(30), [&] {
    answer = connection_->Send(request);
    return answer.status != 503;
  });
  return answer;
}

Answer AdmissionServer::Make(const json::value& manifest) {
  return Send("POST", crds::CollectionOf(manifest, kNamespace), manifest);
}

Answer AdmissionServer::Create(const json::value& manifest) {
  return Send("POST", crds::CollectionOf(manifest, kNamespace) + "?dryRun=All", manifest);
}

Answer AdmissionServer::Replace(const json::value& object) {
  return Send("PUT", PathOf(object) + "?dryRun=All", object);
}

Answer AdmissionServer::Delete(const json::value& object, std::string_view query) {
  return Send("DELETE", fmt::format("{}{}", PathOf(object), query), nullptr);
}

Answer AdmissionServer::Patch(const json::value& object, std::string_view subresource, std::string_view change) {
  return Send("PATCH", fmt::format("{}{}", PathOf(object), subresource), *ParseJson(change),
              "application/merge-patch+json");
}

Answer AdmissionServer::AnswerTo(const Case& one) {
  if (!one.update) return Create(one.Changed(one.base));
  Answer made = Make(one.base);
  // The queue root cannot be deleted, and still exists from the previous case.
  if (made.status == 409) made = Send("GET", PathOf(one.base), nullptr);
  // The server drops the status from a create.
  if (const json::value* status = Find(one.base, "status"); status != nullptr && made.ok()) {
    made = Patch(made.json, "/status", ToText(json::object{{"status", *status}}));
  }
  EXPECT_TRUE(made.ok()) << made;
  if (!made.ok()) return made;
  Answer answer = Replace(one.Changed(made.json));
  Delete(made.json);
  return answer;
}

std::string AdmissionServer::WriteFile(const std::string& text) const {
  std::string file = cluster_->dir() + "/manifest.yaml";
  std::ofstream(file) << text;
  return file;
}

void ExpectSoon(const std::function<bool()>& holds) { EXPECT_TRUE(conformance::Eventually(holds, absl::Seconds(60))); }

bool Names(std::string_view text, std::string_view field) {
  for (const std::string_view root : {"spec", "metadata", "status"}) {
    for (size_t at = text.find(root); at != std::string_view::npos; at = text.find(root, at + 1)) {
      size_t end = at;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                                   std::string_view(".[]-").find(text[end]) != std::string_view::npos)) {
        ++end;
      }
      std::string named(text.substr(at, end - at));
      if (const size_t any = named.find("[]"); any != std::string::npos) named.resize(any);
      if (crds::AreRelated(named, field)) return true;
    }
  }
  return false;
}

void ExpectNamed(const Case& one, const std::string& text) {
  EXPECT_TRUE(Names(text, one.refused)) << "wanted " << one.refused << "\ngot " << text;
  const std::string_view words = std::string_view(one.says).substr(0, one.says.find(" '^"));
  EXPECT_TRUE(text.find(words) != std::string::npos || text.find(one.Words()) != std::string::npos)
      << "wanted " << one.says << "\ngot " << text;
}

}  // namespace basalt::realkube
