// The formats of patches, row by row. Apply has cases of its own.
#include "absl/strings/match.h"

#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

// The result of a patch of a stored object, or the refusal of the patch.
struct PatchRow {
  const char* title;
  const char* before;  // YAML for the object's members beside kind and name.
  const char* patch;   // YAML.
  const char* after;   // A shape, or "!" and the beginning of StatusText.
};

class PatchRows : public WriteConformance, public ::testing::WithParamInterface<PatchRow> {
 protected:
  void Check(const Answer& patched) {
    const std::string_view after = GetParam().after;
    if (after.starts_with("!")) {
      EXPECT_EQ(StatusText(patched).substr(0, after.size() - 1), after.substr(1)) << patched;
      return;
    }
    EXPECT_EQ(patched.status, 200) << patched;
    EXPECT_TRUE(Has(patched.json, after)) << patched;
  }
};

// ---- JSON patch ----

class JsonPatchConformance : public PatchRows {};

TEST_P(JsonPatchConformance, ChangesACustomObject) {
  const Answer made = Post(Gadgets(), Body("Gadget", "a", GetParam().before));
  ASSERT_EQ(made.status, 201) << made;
  Check(Patch(Gadgets("a"), kJsonPatch, J(GetParam().patch)));
}

INSTANTIATE_TEST_SUITE_P(
    , JsonPatchConformance,
    ::testing::Values(
        PatchRow{"AddMember", "spec: {a: 1}", "[{op: add, path: /spec/b, value: 2}]", "spec: {a: 1, b: 2}"},
        PatchRow{"AddOverwrites", "spec: {a: 1}", "[{op: add, path: /spec/a, value: {x: q}}]", "spec: {a: {x: q}}"},
        PatchRow{"AddAtIndex", "spec: {l: [1, 2]}", "[{op: add, path: /spec/l/1, value: 9}]", "spec: {l: [1, 9, 2]}"},
        PatchRow{"AddAtEnd", "spec: {l: [1, 2]}", "[{op: add, path: /spec/l/-, value: 9}]", "spec: {l: [1, 2, 9]}"},
        PatchRow{"Replace", "spec: {a: 1}", "[{op: replace, path: /spec/a, value: 2}]", "spec: {a: 2}"},
        PatchRow{"Remove", "spec: {a: 1, b: 2}", "[{op: remove, path: /spec/a}]", "spec: {a: null, b: 2}"},
        PatchRow{"RemoveFromList", "spec: {l: [1, 2, 3]}", "[{op: remove, path: /spec/l/1}]", "spec: {l: [1, 3]}"},
        PatchRow{"Move", "spec: {a: 1}", "[{op: move, from: /spec/a, path: /spec/b}]", "spec: {a: null, b: 1}"},
        PatchRow{"Copy", "spec: {a: 1}", "[{op: copy, from: /spec/a, path: /spec/b}]", "spec: {a: 1, b: 1}"},
        PatchRow{"TestHolds", "spec: {a: 1}",
                 "[{op: test, path: /spec/a, value: 1}, {op: replace, path: /spec/a, value: 2}]", "spec: {a: 2}"},
        PatchRow{"Escaped", "spec: {a: 1}",
                 "[{op: add, path: '/metadata/annotations', value: {}}, "
                 "{op: add, path: '/metadata/annotations/x.io~1q', value: z}]",
                 "metadata: {annotations: {x.io/q: z}}"},
        PatchRow{"TestOfAVersion", "spec: {a: 1}",
                 "[{op: test, path: /metadata/resourceVersion, value: '1'}, {op: replace, path: /spec/a, value: 2}]",
                 "!422 Invalid: the server rejected our request due to an error in our request"},
        PatchRow{"TestFails", "spec: {a: 1}", "[{op: test, path: /spec/a, value: 3}]",
                 "!422 Invalid: the server rejected our request due to an error in our request"},
        PatchRow{"TestOfNothing", "spec: {a: 1}", "[{op: test, path: /spec/none, value: 3}]",
                 "!422 Invalid: the server rejected our request due to an error in our request"},
        PatchRow{"RemoveOfNothing", "spec: {a: 1}", "[{op: remove, path: /spec/none}]",
                 "!422 Invalid: the server rejected our request due to an error in our request"},
        PatchRow{"ReplaceOfNothingAdds", "spec: {a: 1}", "[{op: replace, path: /spec/none, value: 1}]",
                 "spec: {a: 1, none: 1}"},
        PatchRow{"AddBelowNothing", "spec: {a: 1}", "[{op: add, path: /spec/none/x, value: 1}]",
                 "!422 Invalid: the server rejected our request due to an error in our request"},
        PatchRow{"AddBeyondTheEnd", "spec: {l: [1]}", "[{op: add, path: /spec/l/5, value: 1}]",
                 "!422 Invalid: the server rejected our request due to an error in our request"},
        PatchRow{"CopyOfNothingIsNull", "spec: {a: 1}", "[{op: copy, from: /spec/none, path: /spec/b}]",
                 "metadata: {generation: 2}"},
        PatchRow{"UnknownOperation", "spec: {a: 1}", "[{op: swap, path: /spec/a, value: 1}]",
                 "!422 Invalid: the server rejected our request due to an error in our request"},
        PatchRow{"NoList", "spec: {a: 1}", "{op: add, path: /spec/a, value: 1}", "!400 BadRequest: "},
        PatchRow{"Empty", "spec: {a: 1}", "[]", "spec: {a: 1}"}),
    kTitle);

// ---- merge patch ----

class MergePatchConformance : public PatchRows {};

TEST_P(MergePatchConformance, ChangesACustomObject) {
  const Answer made = Post(Gadgets(), Body("Gadget", "a", GetParam().before));
  ASSERT_EQ(made.status, 201) << made;
  Check(Patch(Gadgets("a"), kMerge, J(GetParam().patch)));
}

INSTANTIATE_TEST_SUITE_P(
    , MergePatchConformance,
    ::testing::Values(
        PatchRow{"Adds", "spec: {a: 1}", "spec: {b: 2}", "spec: {a: 1, b: 2}"},
        PatchRow{"NullDeletes", "spec: {a: 1, b: 2}", "spec: {a: null}", "spec: {a: null, b: 2}"},
        PatchRow{"NullOfNothing", "spec: {a: 1}", "spec: {none: null}",
                 "{spec: {a: 1, none: null}, metadata: {generation: 1}}"},
        PatchRow{"NullOfASubtree", "spec: {a: {b: {c: 1}}}", "spec: {a: {b: null}}", "spec: {a: {b: null}}"},
        PatchRow{"Nested", "spec: {a: {b: {c: 1, d: 2}}}", "spec: {a: {b: {c: 3}}}", "spec: {a: {b: {c: 3, d: 2}}}"},
        PatchRow{"NewSubtreeWithoutItsNulls", "spec: {}", "spec: {a: {b: 1, c: null}}", "spec: {a: {b: 1, c: null}}"},
        PatchRow{"ListsAreReplaced", "spec: {l: [1, 2]}", "spec: {l: [3]}", "spec: {l: [3]}"},
        PatchRow{"MapOverValue", "spec: {a: 1}", "spec: {a: {b: 1}}", "spec: {a: {b: 1}}"},
        PatchRow{"ValueOverMap", "spec: {a: {b: 1}}", "spec: {a: 1}", "spec: {a: 1}"},
        PatchRow{"Labels", "spec: {}", "metadata: {labels: {x: q}}", "metadata: {labels: {x: q}, generation: 1}"},
        PatchRow{"LabelsGo", "spec: {}", "metadata: {labels: null}", "metadata: {labels: null}"},
        PatchRow{"NoObject", "spec: {}", "[1]", "!400 BadRequest: "},
        PatchRow{"OtherName", "spec: {}", "metadata: {name: b}",
                 "!400 BadRequest: the name of the object (b) does not match"},
        PatchRow{
            "OtherNamespace", "spec: {}", "metadata: {namespace: b}",
            "!400 BadRequest: the namespace of the provided object does not match the namespace sent on the request"},
        PatchRow{"OtherUid", "spec: {}", "metadata: {uid: b}",
                 "!422 Invalid: Gadget.conformance.example.com \"a\" is invalid: metadata.uid: Invalid value: \"b\": "
                 "field is immutable"},
        PatchRow{"OldVersion", "spec: {}", "{metadata: {resourceVersion: '1'}, spec: {a: 1}}",
                 "!409 Conflict: Operation cannot be fulfilled on gadgets.conformance.example.com \"a\": the object "
                 "has been "
                 "modified; please apply your changes to the latest version and try again"}),
    kTitle);

class PatchConformance : public WriteConformance {};

TEST_F(PatchConformance, AnEmptyPatchWritesNothing) {
  const Answer made = MakeConfig("a", "{}", R"({"k":"v"})");
  for (const char* format : {kMerge, kStrategic})
    EXPECT_EQ(Patch(Configs("a"), format, "{}").version(), made.version());
  EXPECT_EQ(Patch(Configs("a"), kMerge, R"({"data":{"k":"v"}})").version(), made.version());
}

TEST_F(PatchConformance, APatchWithTheVersionHoldsOnce) {
  const Answer made = MakeConfig("a");
  const auto patch = [&](std::string_view value) {
    return Patch(Configs("a"), kMerge,
                 J(fmt::format("{{metadata: {{resourceVersion: '{}'}}, data: {{k: {}}}}}", made.version(), value)));
  };
  EXPECT_EQ(patch("x").status, 200);
  const Answer late = patch("z");
  EXPECT_EQ(late.status, 409) << late;
  EXPECT_TRUE(Has(late.json, "{reason: Conflict, details: {name: a, kind: configmaps}}"));
}

TEST_F(PatchConformance, AStalePatchThatChangesNothingIsStillAConflict) {
  const Answer made = MakeConfig("a", "{}", R"({"k":"v"})");
  Patch(Configs("a"), kMerge, J("data: {k: w}"));
  const Answer late =
      Patch(Configs("a"), kMerge, J(fmt::format("{{metadata: {{resourceVersion: '{}'}}}}", made.version())));
  EXPECT_EQ(late.status, 409) << late;
}

TEST_F(PatchConformance, OwnIdentityIsNoConflict) {
  const Answer made = MakeConfig("a");
  const Answer patched =
      Patch(Configs("a"), kMerge, J(fmt::format("{{metadata: {{uid: {}}}, data: {{k: v}}}}", made.uid())));
  EXPECT_EQ(patched.status, 200) << patched;
}

TEST_F(PatchConformance, AMissingObjectIsNotFound) {
  for (const char* format : {kMerge, kStrategic}) {
    EXPECT_EQ(StatusText(Patch(Configs("a"), format, "{}")), "404 NotFound: configmaps \"a\" not found");
  }
  EXPECT_EQ(Patch(Configs("a"), kJsonPatch, "[]").status, 404);
}

TEST_F(PatchConformance, BrokenJsonIsABadRequest) {
  MakeConfig("a");
  EXPECT_EQ(Patch(Configs("a"), kMerge, "{").status, 400);
  EXPECT_EQ(Patch(Configs("a"), kJsonPatch, "[{").status, 400);
  EXPECT_EQ(Patch(Configs("a"), kStrategic, "{").status, 400);
}

TEST_F(PatchConformance, ADryRunChangesNothing) {
  const Answer made = MakeConfig("a");
  EXPECT_TRUE(Has(Patch(Configs("a") + "?dryRun=All", kMerge, J("data: {k: v}")).json, "data: {k: v}"));
  EXPECT_EQ(Get(Configs("a")).version(), made.version());
}

TEST_F(PatchConformance, ForceIsForApplyAlone) {
  MakeConfig("a");
  EXPECT_EQ(StatusText(Patch(Configs("a") + "?force=true", kMerge, "{}")),
            "422 Invalid: PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for "
            "non-apply patch");
}

TEST_F(PatchConformance, AWrongDryRunIsRefusedInTheNameOfItsOptions) {
  MakeConfig("a");
  EXPECT_EQ(StatusText(Patch(Configs("a") + "?dryRun=Some", kMerge, "{}")),
            "422 Invalid: PatchOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported "
            "values: \"All\"");
}

// ---- strategic merge patch ----

class StrategicPatchConformance : public PatchRows {};

TEST_P(StrategicPatchConformance, ChangesADeployment) {
  const std::string target = Group("apps/v1", "deployments");
  json::value body = Parse(fmt::format(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {{name: a, finalizers: [example.com/one, example.com/two]}}
spec:
  replicas: 0
  selector: {{matchLabels: {{a: b}}}}
  template: {{metadata: {{labels: {{a: b}}}}, {}}}
)",
                                       GetParam().before));
  ASSERT_EQ(Post(target, ToText(body)).status, 201);
  Check(Patch(target + "/a", kStrategic, J(GetParam().patch)));
  Patch(target + "/a", kMerge, J("metadata: {finalizers: null}"));
}

INSTANTIATE_TEST_SUITE_P(
    , StrategicPatchConformance,
    ::testing::Values(
        PatchRow{"ContainersByName", "spec: {containers: [{name: x, image: i}, {name: q, image: i}]}",
                 "spec: {template: {spec: {containers: [{name: q, image: new}]}}}",
                 "spec: {template: {spec: {containers: [{name: x, image: i}, {name: q, image: new}]}}}"},
        PatchRow{"ContainerAdded", "spec: {containers: [{name: x, image: i}]}",
                 "spec: {template: {spec: {containers: [{name: q, image: j}]}}}",
                 "spec: {template: {spec: {containers: [{name: q, image: j}, {name: x, image: i}]}}}"},
        PatchRow{"ContainerDeleted", "spec: {containers: [{name: x, image: i}, {name: q, image: i}]}",
                 "spec: {template: {spec: {containers: [{name: x, $patch: delete}]}}}",
                 "spec: {template: {spec: {containers: [{name: q}]}}}"},
        PatchRow{"ContainersReplaced", "spec: {containers: [{name: x, image: i}, {name: q, image: i}]}",
                 "spec: {template: {spec: {containers: [{$patch: replace}, {name: z, image: i}]}}}",
                 "spec: {template: {spec: {containers: [{name: z}]}}}"},
        PatchRow{"EnvironmentByName",
                 "spec: {containers: [{name: x, image: i, env: [{name: A, value: a}, {name: B, value: b}]}]}",
                 "spec: {template: {spec: {containers: [{name: x, env: [{name: B, value: c}]}]}}}",
                 "spec: {template: {spec: {containers: [{env: [{name: A, value: a}, {name: B, value: c}]}]}}}"},
        PatchRow{"MapReplaced", "spec: {nodeSelector: {a: b}, containers: [{name: x, image: i}]}",
                 "spec: {template: {spec: {nodeSelector: {$patch: replace, c: d}}}}",
                 "spec: {template: {spec: {nodeSelector: {a: null, c: d}}}}"},
        PatchRow{"MapDeleted", "spec: {nodeSelector: {a: b}, containers: [{name: x, image: i}]}",
                 "spec: {template: {spec: {nodeSelector: {$patch: delete}}}}",
                 "spec: {template: {spec: {nodeSelector: null}}}"},
        PatchRow{"NullDeletes", "spec: {nodeSelector: {a: b, c: d}, containers: [{name: x, image: i}]}",
                 "spec: {template: {spec: {nodeSelector: {a: null}}}}",
                 "spec: {template: {spec: {nodeSelector: {a: null, c: d}}}}"},
        PatchRow{"PrimitiveDeleted", "spec: {containers: [{name: x, image: i}]}",
                 "metadata: {$deleteFromPrimitiveList/finalizers: [example.com/one]}",
                 "metadata: {finalizers: [example.com/two]}"},
        PatchRow{"PrimitiveAdded", "spec: {containers: [{name: x, image: i}]}",
                 "metadata: {finalizers: [example.com/three]}",
                 "metadata: {finalizers: [example.com/three, example.com/one, example.com/two]}"},
        PatchRow{"KeysRetained", "spec: {containers: [{name: x, image: i}]}",
                 "spec: {strategy: {$retainKeys: [type], type: Recreate}}",
                 "spec: {strategy: {type: Recreate, rollingUpdate: null}}"},
        PatchRow{"OrderSet", "spec: {containers: [{name: x, image: i}, {name: q, image: i}]}",
                 "spec: {template: {spec: {$setElementOrder/containers: [{name: q}, {name: x}], containers: [{name: q, "
                 "image: j}]}}}",
                 "spec: {template: {spec: {containers: [{name: q, image: j}, {name: x, image: i}]}}}"},
        PatchRow{"AtomicListReplaced", "spec: {containers: [{name: x, image: i, args: [a, b]}]}",
                 "spec: {template: {spec: {containers: [{name: x, args: [c]}]}}}",
                 "spec: {template: {spec: {containers: [{args: [c]}]}}}"},
        PatchRow{"TolerationsReplaced",
                 "spec: {tolerations: [{key: a, operator: Exists}], containers: [{name: x, image: i}]}",
                 "spec: {template: {spec: {tolerations: [{key: b, operator: Exists}]}}}",
                 "spec: {template: {spec: {tolerations: [{key: b}]}}}"},
        PatchRow{"NoMergeKey", "spec: {containers: [{name: x, image: i}]}",
                 "spec: {template: {spec: {containers: [{image: j}]}}}", "!500 : map: "}),
    kTitle);

}  // namespace
}  // namespace basalt::conformance
