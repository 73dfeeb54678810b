#include "kubesim/server/request/protobuf_body.h"

#include <gtest/gtest.h>

#include <string>

#include "kubesim/schema/builtin/builtin.h"
#include "kubesim/server/request/protobuf_messages.h"

namespace basalt::kubesim {
namespace {

std::string Bytes(int field, const std::string& content) {
  return std::string(1, static_cast<char>(field << 3 | 2)) + static_cast<char>(content.size()) + content;
}

std::string Envelope(const std::string& kind, const std::string& raw) {
  return std::string("k8s\0", 4) + Bytes(1, Bytes(1, "v1") + Bytes(2, kind)) + Bytes(2, raw);
}

TEST(ProtobufBodyTest, AConfigMapWithItsMap) {
  const auto parsed = ParseProtobufBody(
      Envelope("ConfigMap", Bytes(1, Bytes(1, "c") + Bytes(2, "")) + Bytes(2, Bytes(1, "k") + Bytes(2, "v"))));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(ToText(*parsed), R"({"metadata":{"name":"c"},"data":{"k":"v"},"apiVersion":"v1","kind":"ConfigMap"})");
}

TEST(ProtobufBodyTest, WhatIsNotKnownIsRefusedNotDropped) {
  EXPECT_EQ(ParseProtobufBody(Envelope("Deployment", "")).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(ParseProtobufBody(Envelope("ConfigMap", Bytes(9, "x"))).status().code(), absl::StatusCode::kUnimplemented);
}

std::string Number(int field, int value) {
  return std::string(1, static_cast<char>(field << 3)) + static_cast<char>(value);
}

// Returns the object without its type, or the message of the refusal.
std::string Read(const std::string& kind, const std::string& raw, const std::string& api_version = "v1") {
  auto parsed =
      ParseProtobufBody(std::string("k8s\0", 4) + Bytes(1, Bytes(1, api_version) + Bytes(2, kind)) + Bytes(2, raw));
  if (!parsed.ok()) return std::string(parsed.status().message());
  parsed->get_object().erase("kind");
  parsed->get_object().erase("apiVersion");
  return ToText(*parsed);
}

TEST(ProtobufBodyTest, TheTablesAreWellFormedAndHoldEveryBuiltInKindButDefinitions) {
  EXPECT_TRUE(protobuf::TableFaults().empty()) << protobuf::TableFaults().front();
  for (const TypeInfoPtr& type : BuiltinTypes()) {
    EXPECT_EQ(protobuf::FindBody(type->ApiVersion(), type->kind) == nullptr, type->kind == "CustomResourceDefinition")
        << type->kind;
  }
}

TEST(ProtobufBodyTest, EveryTypeHasItsFormInJson) {
  struct Case {
    const char* what;
    std::string got;
    const char* wanted;
  };
  const Case cases[] = {
      {"a pointer to zero", Read("Deployment", Bytes(2, Number(1, 0)), "apps/v1"), R"({"spec":{"replicas":0}})"},
      {"a zero that is no pointer", Read("Deployment", Bytes(2, Number(5, 0)), "apps/v1"), R"({"spec":{}})"},
      {"a required zero", Read("PriorityClass", Number(2, 0), "scheduling.k8s.io/v1"), R"({"value":0})"},
      {"a quantity", Read("ResourceQuota", Bytes(2, Bytes(1, Bytes(1, "cpu") + Bytes(2, Bytes(1, "2"))))),
       R"({"spec":{"hard":{"cpu":"2"}}})"},
      {"an integer",
       Read("PodDisruptionBudget", Bytes(2, Bytes(1, Number(1, 0) + Number(2, 3) + Bytes(3, ""))), "policy/v1"),
       R"({"spec":{"minAvailable":3}})"},
      {"a text",
       Read("PodDisruptionBudget", Bytes(2, Bytes(1, Number(1, 1) + Number(2, 0) + Bytes(3, "5%"))), "policy/v1"),
       R"({"spec":{"minAvailable":"5%"}})"},
      {"a time", Read("Pod", Bytes(1, Bytes(8, Number(1, 61) + Number(2, 0)))),
       R"({"metadata":{"creationTimestamp":"1970-01-01T00:01:01Z"}})"},
      {"no time", Read("Pod", Bytes(1, Bytes(8, ""))), R"({"metadata":{}})"},
      {"bytes", Read("Secret", Bytes(2, Bytes(1, "k") + Bytes(2, "v"))), R"({"data":{"k":"dg=="}})"},
      {"members of an inner message", Read("Pod", Bytes(2, Bytes(1, Bytes(1, "v") + Bytes(2, Bytes(2, ""))))),
       R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})"},
  };
  for (const Case& c : cases) EXPECT_EQ(c.got, c.wanted) << c.what;
}

TEST(ProtobufBodyTest, ARefusalNamesTheMessageAndTheNumber) {
  EXPECT_EQ(Read("Pod", Bytes(2, Bytes(2, Bytes(13, "") + Bytes(15, Bytes(14, ""))))),
            "field 14 of SecurityContext is not known in protobuf");
  EXPECT_EQ(Read("Pod", Bytes(2, Bytes(9, "") + Bytes(2, Number(15, 1)))),
            "the body is not in Kubernetes' protobuf format");
  EXPECT_EQ(Read("Pod", Bytes(1, Bytes(15, ""))), R"({"metadata":{}})");
  EXPECT_EQ(Read("Pod", Bytes(1, Bytes(15, "x"))), "field 15 of ObjectMeta is not known in protobuf");
  EXPECT_EQ(Read("Role", "", "rbac.authorization.k8s.io/v1"),
            "Role of rbac.authorization.k8s.io/v1 is not known in protobuf");
  EXPECT_EQ(Read("Pod", Bytes(1, Bytes(1, "\xff"))), "a text in the protobuf body is not UTF-8");
}

TEST(ProtobufBodyTest, BrokenBytesAreRefused) {
  const std::string whole = Envelope("ConfigMap", Bytes(1, Bytes(1, "c")));
  const size_t without_object = Envelope("ConfigMap", "").size() - 2;  // Between two fields: an empty object.
  for (size_t size = 0; size + 1 < whole.size(); ++size) {
    const auto parsed = ParseProtobufBody(std::string_view(whole).substr(0, size));
    EXPECT_EQ(parsed.ok(), size == without_object) << size;
  }
}

}  // namespace
}  // namespace basalt::kubesim
