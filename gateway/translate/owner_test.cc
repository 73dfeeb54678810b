// Tests which fields of an owner of pods the gateway keeps for the rules of grouping.
#include <gtest/gtest.h>

#include <string>

#include "common/base/json.h"
#include "gateway/translate/decoder.h"

namespace basalt::gateway {
namespace {

kube::v1::GenericObject Read(std::string_view text) {
  Decoder decoder(ObjectKind::kOwner);
  auto decoded = decoder.DecodeObject(text);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return decoded.ok() ? decoded->object.generic() : kube::v1::GenericObject();
}

TEST(OwnerTest, MetadataAndSpecAreKept) {
  const auto owner = Read(R"({"apiVersion":"apps/v1","kind":"ReplicaSet",
    "metadata":{"name":"web-1","namespace":"default","uid":"u1","resourceVersion":"7","labels":{"app":"web"},
      "annotations":{"kai.scheduler/topology":"t","kubectl.kubernetes.io/last-applied-configuration":"{}"},
      "ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"u0","controller":true}]},
    "spec":{"replicas":3,"template":{"metadata":{"annotations":{"a":"b"}},"spec":{"schedulerName":"kai-scheduler"}}}})");
  EXPECT_EQ(owner.meta().name(), "web-1");
  EXPECT_EQ(owner.meta().uid(), "u1");
  EXPECT_EQ(owner.meta().resource_version(), 7);
  EXPECT_TRUE(owner.meta().annotations().empty()) << "they stand in the JSON";
  const auto object = ParseJson(owner.json());
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(*FindPath(*object, {"metadata"}), ParseJson(R"({"name":"web-1","uid":"u1","namespace":"default",
    "labels":{"app":"web"},"annotations":{"kai.scheduler/topology":"t"},
    "ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"u0","controller":true}]})")
                                                  .value());
  EXPECT_EQ(
      *FindPath(*object, {"spec"}),
      ParseJson(
          R"({"replicas":3,"template":{"metadata":{"annotations":{"a":"b"}},"spec":{"schedulerName":"kai-scheduler"}}})")
          .value());
}

TEST(OwnerTest, FieldsThatNoRuleReadsAreLeftOut) {
  const std::string script(2000, 'x');
  const auto owner = Read(R"({"metadata":{"name":"j","namespace":"default","uid":"u1"},
    "spec":{"script":")" + script +
                          R"(","template":{"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{}],
      "priorityClassName":"train"}},"roles":[{"replicas":2,"template":{"spec":{"initContainers":[{}]}}}]},
    "data":{"secret":"c2VjcmV0"},
    "status":{"replicas":3,"conditions":[{"type":"Ready"}],"rayClusterName":"c1",
      "activeServiceStatus":{"rayClusterName":"c2","applicationStatuses":{}}}})");
  const auto object = ParseJson(owner.json());
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(*object, ParseJson(R"({"spec":{"template":{"spec":{"priorityClassName":"train"}},
    "roles":[{"replicas":2,"template":{"spec":{}}}]},
    "status":{"rayClusterName":"c1","activeServiceStatus":{"rayClusterName":"c2"}},
    "metadata":{"name":"j","uid":"u1","namespace":"default"}})")
                         .value());
}

TEST(OwnerTest, KindsThatRuleTheClusterKeepTheirWholeSpec) {
  Decoder decoder(ObjectKind::kClusterRule);
  const std::string path(2000, 'x');
  const auto decoded = decoder.DecodeObject(R"({"metadata":{"name":"k","uid":"u1"},"spec":{"path":")" + path +
                                            R"(","env":{"containers":[]}},"status":{"conditions":[]}})");
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->object.generic().json(),
            R"({"spec":{"path":")" + path + R"(","env":{"containers":[]}},"metadata":{"name":"k","uid":"u1"}})");
}

TEST(OwnerTest, AnEventThatCountsPodsChangesNothing) {
  const std::string before = R"({"metadata":{"name":"j","uid":"u1","resourceVersion":"1"},"status":{"active":1}})";
  const std::string after = R"({"metadata":{"name":"j","uid":"u1","resourceVersion":"2"},"status":{"active":2}})";
  EXPECT_EQ(Read(before).json(), Read(after).json());
}

TEST(OwnerTest, ItemsOfAListAreReadAlike) {
  Decoder decoder(ObjectKind::kOwner);
  const auto list = decoder.DecodeList(R"({"metadata":{"resourceVersion":"9"},"items":[
    {"metadata":{"name":"a","uid":"u1"},"spec":{"x":1}},{"metadata":{"name":"b","uid":"u2"},"spec":{"x":"1"}}]})");
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->items.size(), 2u);
  EXPECT_EQ(list->items[1].object.generic().json(), R"({"spec":{"x":"1"},"metadata":{"name":"b","uid":"u2"}})");
}

TEST(OwnerTest, AnObjectThatNobodyWantsIsLeftOutAndItsSpecIsNotRead) {
  Decoder decoder(ObjectKind::kOwner);
  decoder.KeepOnly([](std::string_view ns, std::string_view name) { return ns == "n" && name == "b"; });
  const auto list = decoder.DecodeList(R"({"metadata":{"resourceVersion":"9"},"items":[
    {"metadata":{"name":"a","namespace":"n","uid":"u1"},"spec":{"x":1}},
    {"spec":{"x":1},"metadata":{"name":"b","namespace":"n","uid":"u2"}}]})");
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->items.size(), 1u);
  EXPECT_EQ(list->items[0].object.generic().json(),
            R"({"spec":{"x":1},"metadata":{"name":"b","uid":"u2","namespace":"n"}})");
  const auto event = decoder.DecodeWatchLine(
      R"({"type":"MODIFIED","object":{"metadata":{"name":"a","namespace":"n","uid":"u1","resourceVersion":"7"},)"
      R"("spec":{"x":1}}})");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_TRUE(event->decoded.is_unwanted);
  EXPECT_EQ(event->resource_version, 7);
  EXPECT_EQ(event->decoded.object.generic().json(), "");
}

TEST(KaiPodGroupTest, StatusIsKeptWhereTheWholeObjectIsAskedFor) {
  const std::string text = R"({"metadata":{"name":"pg-a","uid":"u1"},"spec":{},"status":{"conditions":[]}})";
  Decoder watch(ObjectKind::kKaiPodGroup);
  EXPECT_EQ(watch.DecodeObject(text)->object.kai_pod_group().status_json(), "");
  Decoder whole(ObjectKind::kKaiPodGroup, Decoder::Json::kKeep);
  EXPECT_EQ(whole.DecodeObject(text)->object.kai_pod_group().status_json(), R"({"conditions":[]})");
}

TEST(KaiPodGroupTest, SpecIsKeptAsItStands) {
  Decoder decoder(ObjectKind::kKaiPodGroup);
  const auto decoded = decoder.DecodeObject(R"({"metadata":{"name":"pg-a","namespace":"default","uid":"u1",
    "labels":{"a":"b"}},"spec":{"minMember":0,"future":{"x":[1]}},"status":{"conditions":[]}})");
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const kube::v1::KaiPodGroup& group = decoded->object.kai_pod_group();
  EXPECT_EQ(group.meta().labels_size(), 1);
  EXPECT_EQ(group.spec_json(), R"({"minMember":0,"future":{"x":[1]}})");
}

}  // namespace
}  // namespace basalt::gateway
