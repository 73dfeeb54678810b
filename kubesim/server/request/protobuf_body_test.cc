#include "kubesim/server/request/protobuf_body.h"

#include <gtest/gtest.h>

#include <string>

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
