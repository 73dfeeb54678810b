#include "kubesim/schema/apply/apply.h"

#include <gtest/gtest.h>

#include "kubesim/schema/builtin/testing.h"
#include "kubesim/schema/core/testing.h"

namespace basalt::kubesim {
namespace {

constexpr std::string_view kNow = "2026-01-01T00:00:00Z";
constexpr std::string_view kLater = "2026-01-01T00:01:00Z";

json::value Apply(const json::value* live, std::string_view applied, std::string_view manager, std::string_view kind) {
  std::vector<Conflict> conflicts;
  auto result = ServerSideApply(live, Y(applied), manager, false, Type(kind), "", kNow, &conflicts);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->object : json::value();
}

json::value Bare(json::value object) {
  object.at("metadata").as_object().erase("managedFields");
  return object;
}

// Returns a line "manager/operation fields" for each entry of managedFields.
std::string Managers(const json::value& object) {
  std::string out;
  const json::value* list = FindPath(object, {"metadata", "managedFields"});
  if (list == nullptr) return out;
  for (const json::value& entry : list->as_array()) {
    out += std::string(FindString(entry, "manager")) + "/" + std::string(FindString(entry, "operation")) + " " +
           ToText(*Find(entry, "fieldsV1")) + "\n";
  }
  return out;
}

TEST(ApplyTest, KeyedListsMergeByItem) {
  const json::value first = Apply(nullptr,
                                  "{metadata: {name: a, finalizers: [x/a]}, spec: {containers: [{name: c, image: i, "
                                  "ports: [{containerPort: 80}]}]}}",
                                  "me", "Pod");
  EXPECT_NE(Managers(first).find("k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"TCP\\\"}"), std::string::npos);
  const json::value both =
      Apply(&first,
            "{metadata: {name: a, finalizers: [x/b]}, spec: {containers: [{name: d, image: j}, {name: c, tty: true}]}}",
            "you", "Pod");
  EXPECT_EQ(Bare(both),
            Y("{metadata: {name: a, finalizers: [x/a, x/b]}, spec: {containers: [{name: c, image: i, ports: "
              "[{containerPort: 80}], tty: true}, {name: d, image: j}]}}"));
  const json::value left = Apply(&both, "{metadata: {name: a}, spec: {containers: [{name: c}]}}", "you", "Pod");
  EXPECT_EQ(Bare(left), Y("{metadata: {name: a, finalizers: [x/a]}, spec: {containers: [{name: c, image: i, ports: "
                          "[{containerPort: 80}]}]}}"));
}

TEST(ManagedFieldsTest, AFieldThatIsRemovedHasNoOwner) {
  const json::value live = Apply(nullptr, "{metadata: {name: a}, data: {k: v, l: w}}", "me", "ConfigMap");
  json::value next = live;
  next.at("data").as_object().erase("l");
  UpdateManagedFields(&live, next, "editor", Type("ConfigMap"), "", kLater);
  EXPECT_EQ(Managers(next), "me/Apply {\"f:data\":{\"f:k\":{}}}\n");
}

TEST(ManagedFieldsTest, AnUpdateKeepsOrResetsThem) {
  json::value object = Y("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}");
  UpdateManagedFields(nullptr, object, "maker", Type("ConfigMap"), "", kNow);
  json::value without = object;
  without.at("metadata").as_object().erase("managedFields");
  UpdateManagedFields(&object, without, "maker", Type("ConfigMap"), "", kLater);
  EXPECT_EQ(without, object);
  json::value reset = object;
  reset.at("metadata").at("managedFields") = json::array();
  UpdateManagedFields(&object, reset, "maker", Type("ConfigMap"), "", kLater);
  EXPECT_EQ(Managers(reset), "");
}

TEST(ManagedFieldsTest, SeveralConflictsAreGrouped) {
  EXPECT_EQ(ConflictMessage({{"\"a\"", ".x"}, {"\"a\"", ".y"}, {"\"b\"", ".z"}}),
            "Apply failed with 3 conflicts: conflicts with \"a\":\n- .x\n- .y\nconflicts with \"b\":\n- .z");
}

}  // namespace
}  // namespace basalt::kubesim
