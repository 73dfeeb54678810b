#include "kubesim/schema/apply/apply.h"

#include <gtest/gtest.h>

#include "kubesim/schema/builtin/testing.h"
#include "kubesim/schema/core/testing.h"
#include "kubesim/schema/crd/crd.h"

namespace basalt::kubesim {
namespace {

constexpr std::string_view kNow = "2026-01-01T00:00:00Z";
constexpr std::string_view kLater = "2026-01-01T00:01:00Z";

json::value Apply(const json::value* live, std::string_view applied, std::string_view manager, bool force = false,
                  std::string_view kind = "ConfigMap") {
  std::vector<Conflict> conflicts;
  auto result = ServerSideApply(live, Y(applied), manager, force, Type(kind), "", kNow, &conflicts);
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

TEST(ApplyTest, FirstApplyMakesTheObjectAndOwnsIt) {
  const json::value object = Apply(
      nullptr, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: y}}, data: {k: v, e: ''}}", "me");
  EXPECT_EQ(Bare(object),
            Y("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: y}}, data: {k: v, e: ''}}"));
  EXPECT_EQ(Managers(object),
            "me/Apply {\"f:data\":{\"f:e\":{},\"f:k\":{}},\"f:metadata\":{\"f:labels\":{\"f:x\":{}}}}\n");
  EXPECT_EQ(FindString(object.at("metadata").at("managedFields").at(0), "time"), kNow);
  EXPECT_EQ(FindString(object.at("metadata").at("managedFields").at(0), "fieldsType"), "FieldsV1");
}

TEST(ApplyTest, FieldsNoLongerAppliedGo) {
  const json::value first = Apply(nullptr, "{metadata: {name: a, labels: {x: y}}, data: {k: v, l: w}}", "me");
  EXPECT_EQ(Bare(Apply(&first, "{metadata: {name: a}, data: {k: v2}}", "me")),
            Y("{metadata: {name: a}, data: {k: v2}}"));
}

TEST(ApplyTest, FieldsThatAnotherAlsoOwnsStay) {
  const json::value first = Apply(nullptr, "{metadata: {name: a}, data: {k: v, l: w}}", "me");
  const json::value shared = Apply(&first, "{metadata: {name: a}, data: {l: w}}", "you");
  const json::value left = Apply(&shared, "{metadata: {name: a}, data: {k: v}}", "me");
  EXPECT_EQ(Bare(left), Y("{metadata: {name: a}, data: {k: v, l: w}}"));
  EXPECT_EQ(Managers(left), "you/Apply {\"f:data\":{\"f:l\":{}}}\nme/Apply {\"f:data\":{\"f:k\":{}}}\n");
}

TEST(ApplyTest, OtherValuesOfOthersConflictUnlessForced) {
  const json::value first = Apply(nullptr, "{metadata: {name: a}, data: {k: v, l: w}}", "me");
  std::vector<Conflict> conflicts;
  const json::value wanted = Y("{metadata: {name: a}, data: {k: x, l: w}}");
  auto refused = ServerSideApply(&first, wanted, "you", false, Type("ConfigMap"), "", kNow, &conflicts);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(refused.status().message(), "Apply failed with 1 conflict: conflict with \"me\": .data.k");
  ASSERT_EQ(conflicts.size(), 1u);
  EXPECT_EQ(conflicts[0].field, ".data.k");
  const json::value forced = Apply(&first, "{metadata: {name: a}, data: {k: x, l: w}}", "you", true);
  EXPECT_EQ(Bare(forced), Y("{metadata: {name: a}, data: {k: x, l: w}}"));
  EXPECT_EQ(Managers(forced), "me/Apply {\"f:data\":{\"f:l\":{}}}\nyou/Apply {\"f:data\":{\"f:k\":{},\"f:l\":{}}}\n");
}

TEST(ApplyTest, RepeatingAnApplyChangesNothing) {
  const json::value first = Apply(nullptr, "{metadata: {name: a}, data: {k: v}}", "me");
  std::vector<Conflict> conflicts;
  auto again = ServerSideApply(&first, Y("{metadata: {name: a}, data: {k: v}}"), "me", false, Type("ConfigMap"), "",
                               kLater, &conflicts);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->object, first);
}

TEST(ApplyTest, KeyedListsMergeByItem) {
  const json::value first = Apply(nullptr,
                                  "{metadata: {name: a, finalizers: [x/a]}, spec: {containers: [{name: c, image: i, "
                                  "ports: [{containerPort: 80}]}]}}",
                                  "me", false, "Pod");
  EXPECT_NE(Managers(first).find("k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"TCP\\\"}"), std::string::npos);
  const json::value both =
      Apply(&first,
            "{metadata: {name: a, finalizers: [x/b]}, spec: {containers: [{name: d, image: j}, {name: c, tty: true}]}}",
            "you", false, "Pod");
  EXPECT_EQ(Bare(both),
            Y("{metadata: {name: a, finalizers: [x/a, x/b]}, spec: {containers: [{name: c, image: i, ports: "
              "[{containerPort: 80}], tty: true}, {name: d, image: j}]}}"));
  const json::value left = Apply(&both, "{metadata: {name: a}, spec: {containers: [{name: c}]}}", "you", false, "Pod");
  EXPECT_EQ(Bare(left), Y("{metadata: {name: a, finalizers: [x/a]}, spec: {containers: [{name: c, image: i, ports: "
                          "[{containerPort: 80}]}]}}"));
  std::vector<Conflict> conflicts;
  EXPECT_EQ(ServerSideApply(&left, Y("{spec: {containers: [{name: c, image: other}]}}"), "you", false, Type("Pod"), "",
                            kNow, &conflicts)
                .status()
                .message(),
            "Apply failed with 1 conflict: conflict with \"me\": .spec.containers[name=\"c\"].image");
  EXPECT_EQ(ServerSideApply(&left, Y("{spec: {containers: [{image: other}]}}"), "you", false, Type("Pod"), "", kNow,
                            &conflicts)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ApplyTest, StatusIsKeptApart) {
  auto schema = Schema::Compile(Y(R"(
type: object
properties:
  spec: {type: object, properties: {size: {type: integer}}}
  status:
    type: object
    properties:
      state: {type: string}
      nodes: {type: array, x-kubernetes-list-type: set, items: {type: string}}
)"));
  ASSERT_TRUE(schema.ok());
  TypeInfo type;
  type.group = "g";
  type.version = "v1";
  type.kind = "Queue";
  type.builtin = false;
  type.has_status = true;
  type.schema = *schema;
  const json::value live = Y("{apiVersion: g/v1, kind: Queue, metadata: {name: q}, spec: {size: 1}}");
  std::vector<Conflict> conflicts;
  const json::value wanted =
      Y("{apiVersion: g/v1, kind: Queue, metadata: {name: q, labels: {no: no}}, spec: {size: 9}, status: {state: Open, "
        "nodes: [a]}}");
  auto status = ServerSideApply(&live, wanted, "queue-controller", true, type, "status", kNow, &conflicts);
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(
      Bare(status->object),
      Y("{apiVersion: g/v1, kind: Queue, metadata: {name: q}, spec: {size: 1}, status: {state: Open, nodes: [a]}}"));
  EXPECT_EQ(FindString(status->object.at("metadata").at("managedFields").at(0), "subresource"), "status");
  auto main = ServerSideApply(&status->object, wanted, "queue-controller", true, type, "", kNow, &conflicts);
  ASSERT_TRUE(main.ok());
  EXPECT_EQ(main->object.at("spec").at("size"), 9);
  EXPECT_EQ(main->object.at("metadata").at("managedFields").as_array().size(), 2u);
  auto next = ServerSideApply(&main->object, Y("{metadata: {name: q}, status: {state: Closed}}"), "queue-controller",
                              true, type, "status", kNow, &conflicts);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->object.at("status"), Y("{state: Closed}"));
  EXPECT_EQ(next->object.at("spec").at("size"), 9);
}

TEST(ManagedFieldsTest, UpdatesTakeOverWhatTheyChange) {
  json::value live = Apply(nullptr, "{metadata: {name: a}, data: {k: v, l: w}}", "me");
  json::value next = live;
  next.at("data").as_object()["k"] = "other";
  next.at("data").as_object()["n"] = "new";
  UpdateManagedFields(&live, next, "editor", Type("ConfigMap"), "", kLater);
  EXPECT_EQ(Managers(next), "me/Apply {\"f:data\":{\"f:l\":{}}}\neditor/Update {\"f:data\":{\"f:k\":{},\"f:n\":{}}}\n");
  std::vector<Conflict> conflicts;
  EXPECT_EQ(ServerSideApply(&next, Y("{metadata: {name: a}, data: {k: v}}"), "me", false, Type("ConfigMap"), "", kNow,
                            &conflicts)
                .status()
                .message(),
            "Apply failed with 1 conflict: conflict with \"editor\" using v1: .data.k");
  json::value gone = next;
  gone.at("data").as_object().erase("n");
  UpdateManagedFields(&next, gone, "third", Type("ConfigMap"), "", kLater);
  EXPECT_EQ(Managers(gone), "me/Apply {\"f:data\":{\"f:l\":{}}}\neditor/Update {\"f:data\":{\"f:k\":{}}}\n");
}

TEST(ManagedFieldsTest, CreatesOwnEverythingAndResetsClear) {
  json::value object =
      Y("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, labels: {x: y}}, data: {k: v}}");
  UpdateManagedFields(nullptr, object, "maker", Type("ConfigMap"), "", kNow);
  EXPECT_EQ(Managers(object),
            "maker/Update {\"f:data\":{\".\":{},\"f:k\":{}},\"f:metadata\":{\"f:labels\":{\".\":{},\"f:x\":{}}}}\n");
  json::value without = object;
  without.at("metadata").as_object().erase("managedFields");
  UpdateManagedFields(&object, without, "maker", Type("ConfigMap"), "", kLater);
  EXPECT_EQ(without, object) << "a PUT without managedFields keeps them";
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
