#include "common/base/yaml.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace basalt {
namespace {

json::value One(std::string_view text) {
  auto documents = ParseYamlDocuments(text);
  EXPECT_TRUE(documents.ok()) << documents.status();
  if (!documents.ok() || documents->size() != 1) return "not one document";
  return documents->front();
}

std::string Refused(std::string_view text) {
  auto documents = ParseYamlDocuments(text);
  EXPECT_FALSE(documents.ok()) << text;
  return documents.ok() ? "" : std::string(documents.status().message());
}

TEST(YamlTest, PlainScalarsReadAsKubernetesReadsThem) {
  const struct {
    std::string_view text;
    json::value want;
  } rows[] = {{"a: yes", {{"a", true}}},
              {"a: off", {{"a", false}}},
              {"a: y", {{"a", true}}},
              {"a: True", {{"a", true}}},
              {"a: 'yes'", {{"a", "yes"}}},
              {"a: \"1\"", {{"a", "1"}}},
              {"a: 1", {{"a", 1}}},
              {"a: -17", {{"a", -17}}},
              {"a: 0x1F", {{"a", 31}}},
              {"a: 0644", {{"a", 420}}},
              {"a: 1_000", {{"a", 1000}}},
              {"a: 1e3", {{"a", 1000}}},
              {"a: 1.5", {{"a", 1.5}}},
              {"a: 1.0", {{"a", 1}}},
              {"a: 18446744073709551615", {{"a", 18446744073709551615ull}}},
              {"a: ~", {{"a", nullptr}}},
              {"a:", {{"a", nullptr}}},
              {"a: 100m", {{"a", "100m"}}},
              {"a: 1Gi", {{"a", "1Gi"}}},
              {"a: 2026-01-01", {{"a", "2026-01-01"}}},
              {"a: 10.0.0.1", {{"a", "10.0.0.1"}}},
              {"a: !!str 12", {{"a", "12"}}},
              {"on: x", {{"true", "x"}}},
              {"1: x", {{"1", "x"}}}};
  for (const auto& row : rows) EXPECT_EQ(One(row.text), row.want) << row.text;
}

TEST(YamlTest, StructureAnchorsAndMergeKeys) {
  EXPECT_EQ(One("base: &b {x: 1, z: [1, 2]}\nuse: *b\nmore:\n  <<: *b\n  x: 2\n"),
            *ParseJson(R"({"base":{"x":1,"z":[1,2]},"use":{"x":1,"z":[1,2]},"more":{"x":2,"z":[1,2]}})"));
  EXPECT_EQ(One("a: |\n  one\n  two\nb: >\n  one\n  two\n"), *ParseJson(R"({"a":"one\ntwo\n","b":"one two\n"})"));
}

TEST(YamlTest, DocumentsWithoutContentAreLeftOut) {
  auto documents = ParseYamlDocuments("# head\n---\na: 1\n---\n# nothing\n---\nb: 2\n---\n");
  ASSERT_TRUE(documents.ok()) << documents.status();
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ((*documents)[1], (json::value{{"b", 2}}));
  EXPECT_TRUE(ParseYamlDocuments("").value().empty());
}

TEST(YamlTest, JsonIsYaml) { EXPECT_EQ(One("\n {\"a\": [1, \"yes\"]}"), *ParseJson(R"({"a":[1,"yes"]})")); }

TEST(YamlTest, ErrorsNameDocumentLineAndColumn) {
  EXPECT_EQ(Refused("a: 1\n---\nb: 1\nb: 2\n"), "document 2: line 4, column 1: key \"b\" already set in map");
  EXPECT_NE(Refused("a: [1, 2\nb: 3").find("document 1: line"), std::string::npos);
  EXPECT_NE(Refused("a: .inf").find("line 1, column 4"), std::string::npos);
  EXPECT_NE(Refused(R"({"a": 1e400})").find("line 1, column 7"), std::string::npos);
  EXPECT_NE(Refused("a: &x [*x]").find("alias"), std::string::npos);
  EXPECT_EQ(ParseYamlDocuments("a: 1", DoubledKeys::kRefuse, 3).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(YamlTest, DeepNestingAndAliasBombsAreRefused) {
  EXPECT_NE(Refused(std::string(150, '[') + std::string(150, ']')).find("100 levels"), std::string::npos);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_NE(Refused(bomb).find("million"), std::string::npos);
}

// 160 kB of YAML would become 2 GB, so copies count by their bytes, too.
TEST(YamlTest, LongTextsThatAliasesCopyAreRefused) {
  const std::string text(100'000, 'x');
  std::string aliases = "a: &a " + text + "\nb: [";
  for (int i = 0; i < 20'000; ++i) aliases += "*a, ";
  EXPECT_NE(Refused(aliases + "]").find("copy more than 3145728 bytes"), std::string::npos);
  std::string keys = "a: &a {";
  for (int i = 100; i < 200; ++i) keys += std::string(900, 'k') + std::to_string(i) + ": 1, ";
  EXPECT_NE(Refused(keys + "}\nb: [" + aliases.substr(aliases.find("*a")) + "]").find("copy more"), std::string::npos);
  // Each anchor keeps a copy of everything below it.
  std::string anchors;
  for (int i = 0; i < 90; ++i) anchors += "[&a" + std::to_string(i) + " ";
  EXPECT_NE(Refused(anchors + text + std::string(90, ']')).find("copy more"), std::string::npos);
  EXPECT_EQ(One("a: &a " + text + "\nb: [*a, *a]").at("b").as_array().size(), 2u);
}

TEST(YamlTest, TheLastValueOfADoubledKeyCountsIfWanted) {
  const auto documents = ParseYamlDocuments("a: {b: 1, c: 2, b: 3}\na: {b: 4}\n", DoubledKeys::kLastCounts);
  ASSERT_TRUE(documents.ok()) << documents.status();
  EXPECT_EQ(documents->front(), *ParseJson(R"({"a":{"b":4}})"));
}

TEST(YamlTest, BinaryIsDecoded) {
  EXPECT_EQ(One("a: !!binary aGVsbG8="), (json::value{{"a", "hello"}}));
  EXPECT_EQ(One("a: !!binary |\n  aGVs\n  bG8=\n"), (json::value{{"a", "hello"}}));
  EXPECT_NE(Refused("a: !!binary x!").find("line 1, column 4: !!binary, and no base64"), std::string::npos);
  EXPECT_NE(Refused("a: !!binary '/w=='").find("no UTF-8"), std::string::npos);
}

TEST(YamlTest, JsonValuesOneBehindTheOtherAreDocuments) {
  const auto documents = ParseYamlDocuments("{\"a\":1}{\"b\":2}\n {\"c\":3}\n");
  ASSERT_TRUE(documents.ok()) << documents.status();
  ASSERT_EQ(documents->size(), 3u);
  EXPECT_EQ((*documents)[2], (json::value{{"c", 3}}));
  EXPECT_EQ(One("{\"a\": [1, 2,],}"), *ParseJson(R"({"a":[1,2]})"));
}

TEST(YamlTest, AControlCharacterIsNamed) {
  EXPECT_EQ(Refused(std::string_view("a: 1\n\0", 6)), "line 2: the control character 0x00 is not allowed");
  EXPECT_EQ(Refused("a: \x7f"), "line 1: the control character 0x7f is not allowed");
}

// A JSON value has no form for these bytes, and no message of gRPC accepts them.
TEST(YamlTest, ATextThatIsNoUtf8IsRefused) {
  EXPECT_EQ(Refused("a: 1\nb: \xf6\n"), "line 2: the byte 0xf6 is no UTF-8");
  EXPECT_EQ(Refused("\xc3"), "line 1: the byte 0xc3 is no UTF-8");
  EXPECT_EQ(One("a: \xc3\xb6"), (json::value{{"a", "\xc3\xb6"}}));
}

// YAML 1.2.2, 5.7: \N, \_, \L and \P stand for characters beyond ASCII.
TEST(YamlTest, EveryEscapeIsReadAsUtf8) {
  EXPECT_EQ(One(R"(a: "é\_\N\L\P\xa0\x85\u20ac")").at("a"), "é\u00a0\xc2\x85\u2028\u2029\u00a0\xc2\x85€");
  EXPECT_EQ(One(R"("a\_b": 1)").at("a\u00a0b"), 1);
}

// Without the check the parser would begin one document after the other at such a text, for ever.
TEST(YamlTest, ALineThatBeginsNoDocumentEndsTheReading) {
  for (const std::string_view text : {",", "a: 1\n---\n,", ", a", "? a\n,"}) {
    EXPECT_NE(Refused(text).find("line"), std::string::npos) << text;
  }
}

// A terminal obeys some control characters of both sets, marks of direction and bytes that are no UTF-8.
TEST(YamlTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(ToYaml(json::object{{"a", "\x1b[2J\xc2\x9b\xe2\x80\xae\xc3\xa9\n"}}),
            "a: \"\\x1b[2J\\x9b\\u202e\xc3\xa9\\n\"\n");
  EXPECT_EQ(ToYaml(json::object{{"\xc2\x85", 1}}), "\"\\x85\": 1\n");
}

TEST(YamlTest, WritesBlocksLikeKubectl) {
  const json::value value = *ParseJson(
      R"({"kind":"Pod","metadata":{"name":"p","labels":{},"n":"1","t":"2026-01-01T00:00:00Z"},
          "items":[{"b":true,"a":"yes"},"x",[1,2]],"script":"a\nb\n","z":"","colon":"a: b","star":"*","minus":"-x"})");
  EXPECT_EQ(ToYaml(value), R"(colon: 'a: b'
items:
- a: "yes"
  b: true
- x
- - 1
  - 2
kind: Pod
metadata:
  labels: {}
  "n": "1"
  name: p
  t: "2026-01-01T00:00:00Z"
minus: -x
script: |
  a
  b
star: '*'
z: ""
)");
}

// A reader recognizes a key without a mark only up to 1024 characters.
TEST(YamlTest, ALongKeyIsMarked) {
  const std::string key(2000, 'k');
  const json::value value = json::array{json::object{{key, json::object{{key, json::array{1}}, {"z", "a\nb"}}}}};
  EXPECT_EQ(One(ToYaml(value)), value) << ToYaml(value);
  EXPECT_EQ(ToYaml(json::object{{key, 1}}), "? " + key + "\n: 1\n");
}

TEST(YamlTest, EveryTextSurvivesWritingAndReading) {
  const std::string_view texts[] = {
      "",     " ", "a\n",  "a\n\n", "\na",        " a\nb",        "a\n b",        "true", "~",
      "0x1",  "-", "- a",  "a:",    "a#b",        "a #b",         "tab\tx",       "'",    "\"",
      "a\\b", "%", "@x",   "---",   "...",        "<<",           "[x",           "x]",   "{",
      "1:20", "=", "\x01", "é",     "a\xc2\x85z", "\xe2\x80\xa8", "\xef\xbb\xbf", "!x",   "|",
      ">",    "?", "? a",  "null ", "1e3",        "a\r\nb"};
  for (const std::string_view text : texts) {
    const json::value value = {{"k", text}, {"l", json::array{text, json::object{{"m", text}}}}};
    EXPECT_EQ(One(ToYaml(value)), value) << "text: [" << text << "]\n" << ToYaml(value);
    const json::value keyed = json::object{{text, 1}};
    EXPECT_EQ(One(ToYaml(keyed)), keyed) << "key: [" << text << "]\n" << ToYaml(keyed);
  }
}

}  // namespace
}  // namespace basalt
