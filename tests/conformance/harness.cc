#include "tests/conformance/harness.h"

#include "common/base/status.h"
#include "common/http/target.h"

namespace basalt::conformance {

Answer Send(std::string method, std::string target, std::string body, http::Headers headers, absl::Duration timeout) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.body = std::move(body);
  request.headers = std::move(headers);
  request.timeout = timeout;
  if (!request.body.empty() && http::FindHeader(request.headers, "Content-Type").empty()) {
    request.headers.emplace_back("Content-Type", "application/json");
  }
  return Server().Send(std::move(request));
}

Answer Get(std::string target, http::Headers headers) { return Send("GET", std::move(target), "", std::move(headers)); }

Answer Post(std::string target, std::string body, http::Headers headers) {
  return Send("POST", std::move(target), std::move(body), std::move(headers));
}

Answer Put(std::string target, std::string body, http::Headers headers) {
  return Send("PUT", std::move(target), std::move(body), std::move(headers));
}

Answer Patch(std::string target, std::string_view type, std::string body, http::Headers headers) {
  headers.emplace_back("Content-Type", type);
  return Send("PATCH", std::move(target), std::move(body), std::move(headers));
}

Answer Delete(std::string target, std::string body, http::Headers headers) {
  return Send("DELETE", std::move(target), std::move(body), std::move(headers));
}

std::string Query(std::initializer_list<std::pair<std::string_view, std::string_view>> parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) {
    text += fmt::format("{}{}={}", text.empty() ? '?' : '&', name, http::Escape(value));
  }
  return text;
}

void Conformance::SetUp() { ns_ = MakeNamespace(); }

void Conformance::TearDown() {
  for (const std::string& name : namespaces_) Delete("/api/v1/namespaces/" + name);
}

std::string Conformance::MakeNamespace() {
  const Answer made = Post("/api/v1/namespaces", R"({"metadata":{"generateName":"case-"}})");
  EXPECT_EQ(made.status, 201) << made;
  namespaces_.push_back(NameOf(made.json));
  return namespaces_.back();
}

std::string Conformance::Core(std::string_view plural, std::string_view name) const {
  return fmt::format("/api/v1/namespaces/{}/{}{}{}", ns_, plural, name.empty() ? "" : "/", name);
}

std::string Conformance::Group(std::string_view group_version, std::string_view plural, std::string_view name) const {
  return fmt::format("/apis/{}/namespaces/{}/{}{}{}", group_version, ns_, plural, name.empty() ? "" : "/", name);
}

Answer Conformance::MakeConfig(std::string_view name, std::string_view labels, std::string_view data) {
  Answer made = Post(Configs(), ConfigBody(name, labels, data));
  EXPECT_EQ(made.status, 201) << made;
  return made;
}

Answer Conformance::MakeSecret(std::string_view name, std::string_view labels) {
  Answer made = Post(Secrets(), SecretBody(name, labels));
  EXPECT_EQ(made.status, 201) << made;
  return made;
}

Answer Conformance::MakePod(std::string_view name, std::string_view labels, std::string_view more_spec) {
  Answer made = Post(Pods(), PodBody(name, labels, more_spec));
  EXPECT_EQ(made.status, 201) << made;
  return made;
}

Answer Conformance::MakeEvent(std::string_view name) {
  Answer made = Post(Core("events"),
                     fmt::format(R"({{"metadata":{{"name":"{}"}},"involvedObject":{{"namespace":"{}"}}}})", name, ns_));
  EXPECT_EQ(made.status, 201) << made;
  return made;
}

Answer Conformance::MakeJob(std::string_view name, std::string_view labels) {
  Answer made = Post(Jobs(), JobBody(name, labels));
  EXPECT_EQ(made.status, 201) << made;
  return made;
}

std::string ConfigBody(std::string_view name, std::string_view labels, std::string_view data) {
  return fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}","labels":{}}},"data":{}}})",
                     name, labels, data);
}

std::string SecretBody(std::string_view name, std::string_view labels) {
  return fmt::format(R"({{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"{}","labels":{}}}}})", name, labels);
}

std::string PodBody(std::string_view name, std::string_view labels, std::string_view more_spec) {
  return fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","labels":{}}},)"
                     R"("spec":{{"containers":[{{"name":"c","image":"i"}}]{}}}}})",
                     name, labels, more_spec);
}

std::string JobBody(std::string_view name, std::string_view labels) {
  return fmt::format(
      R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"{}","labels":{}}},)"
      R"("spec":{{"minAvailable":1,"tasks":[{{"name":"t","replicas":1,)"
      R"("template":{{"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}]}}}})",
      name, labels);
}

}  // namespace basalt::conformance
