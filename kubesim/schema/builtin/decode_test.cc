#include "kubesim/schema/builtin/decode.h"

#include <gtest/gtest.h>

#include "common/base/yaml.h"
#include "kubesim/schema/builtin/testing.h"

namespace basalt::kubesim {
namespace {

std::string Why(std::string_view kind, std::string_view yaml) {
  return WhyUnreadable(Type(kind), ParseYamlDocuments(yaml)->front());
}

TEST(DecodeTest, ReadableObjectsAreNotRefused) {
  for (const char* readable :
       {"{}", "{spec: null}", "{spec: {}}", "{spec: {holderIdentity: '', renewTime: null}}",
        "{spec: {acquireTime: '2026-01-02T03:04:05.678901Z', renewTime: '2026-01-02T03:04:05.678901-11:30'}}",
        "{spec: {leaseDurationSeconds: 2147483647, leaseTransitions: -2147483648}}"}) {
    EXPECT_EQ(Why("Lease", readable), "") << readable;
  }
  for (const char* readable : {"{}", "{data: {a: b, c: null}, binaryData: null}", "{binaryData: {a: '', b: AA==}}",
                               "{binaryData: {a: AAA=, b: AAAA, c: \"AA\\nAA\\r\\nAAA=\\n\"}}"}) {
    EXPECT_EQ(Why("ConfigMap", readable), "") << readable;
  }
  EXPECT_EQ(Why("Secret", "{data: {a: 5}}"), "") << "of other kinds nothing is said";
}

TEST(DecodeTest, ARefusalNamesWhereATimeStopsBeingOne) {
  const struct {
    std::string_view time, rest, element;
  } rows[] = {
      {"", "", "2006"},
      {"202", "202", "2006"},
      {"2026/01", "/01", "-"},
      {"2026-01-02 03:04:05.000000Z", " 03:04:05.000000Z", "T"},
      {"2026-01-02T03:04:05.00000Z", ".00000Z", ".000000"},
      {"2026-01-02T03:04:05.0000000Z", "0Z", "Z07:00"},
      {"2026-01-02T03:04:05.000000", "", "Z07:00"},
  };
  for (const auto& row : rows) {
    const std::string why = Why("Lease", "{spec: {renewTime: '" + std::string(row.time) + "'}}");
    EXPECT_TRUE(why.ends_with("cannot parse \"" + std::string(row.rest) + "\" as \"" + std::string(row.element) + '"'))
        << row.time << ": " << why;
  }
  EXPECT_NE(Why("Lease", "{spec: {renewTime: '2026-13-02T03:04:05.000000Z'}}"), "");
}

TEST(DecodeTest, TimesGoToUtc) {
  EXPECT_EQ(MicroTimeInUtc("2026-01-02T03:04:05.678901+01:00"), "2026-01-02T02:04:05.678901Z");
  EXPECT_EQ(MicroTimeInUtc("2026-01-02T03:04:05.678900Z"), "2026-01-02T03:04:05.678900Z");
  EXPECT_EQ(MicroTimeInUtc("soon"), "soon");
}

}  // namespace
}  // namespace basalt::kubesim
