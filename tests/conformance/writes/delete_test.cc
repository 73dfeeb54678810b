// Deletions: preconditions, the grace of pods, finalizers, and the answers.
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

class DeleteConformance : public WriteConformance {
 protected:
  Answer MakeHeld(std::string_view name) {
    return MakeWidget(name, "spec: {replicas: 1}", "finalizers: [example.com/hold]");
  }
  void Free(std::string_view name) { Patch(Widgets(name), kMerge, J("metadata: {finalizers: null}")); }
  Answer MakeBound(std::string_view name, std::string_view more = "") {
    return MakePod(name, "{}", fmt::format(R"(,"nodeName":"somewhere"{})", more));
  }
  static absl::Time TimeOf(const Answer& answer, std::string_view name) {
    absl::Time time;
    std::string error;
    EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, answer.At({"metadata", name}), &time, &error)) << error;
    return time;
  }
};

TEST_F(DeleteConformance, IsAnsweredWithAStatus) {
  const Answer made = MakeConfig("a");
  const Answer gone = Delete(Configs("a"));
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(gone.json,
            Parse(fmt::format("{{kind: Status, apiVersion: v1, metadata: {{}}, status: Success, details: {{name: "
                              "a, kind: configmaps, uid: {}}}}}",
                              made.uid())))
      << gone;
  EXPECT_EQ(Get(Configs("a")).status, 404);
}

TEST_F(DeleteConformance, ACustomObjectIsAnsweredWithItsGroup) {
  const Answer made = MakeWidget("a");
  const Answer gone = Delete(Widgets("a"));
  EXPECT_TRUE(
      Has(gone.json, fmt::format("{{kind: Status, status: Success, details: {{name: a, group: conformance.example.com, "
                                 "kind: widgets, uid: {}}}}}",
                                 made.uid())))
      << gone;
}

TEST_F(DeleteConformance, APodIsAnsweredWithThePod) {
  const Answer made = MakePod("a");
  const Answer gone = Delete(Pods("a"));
  EXPECT_EQ(gone.status, 200);
  EXPECT_TRUE(
      Has(gone.json, R"({kind: Pod, metadata: {name: a, deletionTimestamp: "*", deletionGracePeriodSeconds: 0}})"))
      << gone;
  EXPECT_EQ(gone.uid(), made.uid());
  EXPECT_EQ(Get(Pods("a")).status, 404);
}

TEST_F(DeleteConformance, AServiceIsAnsweredWithTheService) {
  Post(Core("services"), Body("Service", "a", "spec: {ports: [{port: 80}]}"));
  EXPECT_TRUE(Has(Delete(Core("services", "a")).json, "{kind: Service, metadata: {name: a}}"));
}

TEST_F(DeleteConformance, AMissingObjectIsNotFound) {
  EXPECT_EQ(StatusText(Delete(Configs("a"))), "404 NotFound: configmaps \"a\" not found");
}

TEST_F(DeleteConformance, AnotherIdentityIsAConflict) {
  const Answer made = MakeConfig("a");
  const Answer gone = Delete(Configs("a"), J("preconditions: {uid: other}"));
  EXPECT_EQ(StatusText(gone),
            fmt::format(
                "409 Conflict: Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition "
                "(other) does not match the UID in record ({}). The object might have been deleted and then recreated",
                made.uid()));
  EXPECT_EQ(Get(Configs("a")).status, 200);
}

TEST_F(DeleteConformance, AnotherVersionIsAConflict) {
  const Answer made = MakeConfig("a");
  const Answer gone = Delete(Configs("a"), J("preconditions: {resourceVersion: '1'}"));
  EXPECT_EQ(
      StatusText(gone),
      fmt::format(
          "409 Conflict: Operation cannot be fulfilled on ConfigMap \"a\": the ResourceVersion in the "
          "precondition (1) does not match the ResourceVersion in record ({}). The object might have been modified",
          made.version()));
}

TEST_F(DeleteConformance, TheRightIdentityAndVersionAreNone) {
  const Answer made = MakeConfig("a");
  EXPECT_EQ(Delete(Configs("a"),
                   J(fmt::format("preconditions: {{uid: {}, resourceVersion: '{}'}}", made.uid(), made.version())))
                .status,
            200);
}

TEST_F(DeleteConformance, APodOfAnotherIdentityIsAConflict) {
  MakePod("a");
  EXPECT_EQ(Delete(Pods("a"), J("{preconditions: {uid: other}, gracePeriodSeconds: 0}")).status, 409);
  EXPECT_EQ(Get(Pods("a")).status, 200);
}

TEST_F(DeleteConformance, ADryRunDeletesNothing) {
  MakeConfig("a");
  EXPECT_EQ(Delete(Configs("a") + "?dryRun=All").status, 200);
  EXPECT_EQ(Delete(Configs("a"), J("dryRun: [All]")).status, 200);
  EXPECT_EQ(Get(Configs("a")).status, 200);
  MakePod("a");
  Delete(Pods("a") + "?dryRun=All");
  EXPECT_TRUE(Has(Get(Pods("a")).json, "metadata: {deletionTimestamp: null}"));
}

TEST_F(DeleteConformance, AWrongDryRunIsRefused) {
  MakeConfig("a");
  const char* refusal =
      "422 Invalid: DeleteOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported "
      "values: "
      "\"All\"";
  EXPECT_EQ(StatusText(Delete(Configs("a"), J("dryRun: [Some]"))).substr(0, 3), "422");
  EXPECT_EQ(StatusText(Delete(Configs("a") + "?dryRun=Some")), refusal);
}

TEST_F(DeleteConformance, AnUnknownPropagationIsRefused) {
  MakeConfig("a");
  EXPECT_EQ(StatusText(Delete(Configs("a") + "?propagationPolicy=Never")),
            "422 Invalid: DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"Never\": "
            "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"");
}

TEST_F(DeleteConformance, PropagationIsSaidOnlyOnce) {
  MakeConfig("a");
  const Answer gone = Delete(Configs("a"), J("{orphanDependents: true, propagationPolicy: Background}"));
  EXPECT_EQ(StatusText(gone),
            "422 Invalid: DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Invalid value: \"Background\": "
            "orphanDependents and deletionPropagation cannot be both set");
}

TEST_F(DeleteConformance, TheBodyGoesBeforeTheQuery) {
  MakeBound("a");
  const Answer gone = Delete(Pods("a") + "?gracePeriodSeconds=0", J("gracePeriodSeconds: 20"));
  EXPECT_TRUE(Has(gone.json, "metadata: {deletionGracePeriodSeconds: 20}")) << gone;
}

TEST_F(DeleteConformance, BrokenOptionsAreABadRequest) {
  MakeConfig("a");
  EXPECT_EQ(Delete(Configs("a"), "{").status, 400);
  EXPECT_EQ(Delete(Configs("a"), J("{kind: Pod, apiVersion: v1}")).status, 400);
}

// ---- the grace of pods ----

TEST_F(DeleteConformance, AScheduledPodHasItsGrace) {
  const Answer made = MakeBound("a");
  const absl::Time before = absl::Now();
  const Answer gone = Delete(Pods("a"));
  EXPECT_EQ(gone.status, 200) << gone;
  EXPECT_TRUE(Has(gone.json,
                  R"({kind: Pod, metadata: {deletionTimestamp: "*", deletionGracePeriodSeconds: 30, generation: 2}})"))
      << gone;
  EXPECT_GE(TimeOf(gone, "deletionTimestamp"), before + absl::Seconds(28));
  EXPECT_GT(NumberOf(gone.version()), NumberOf(made.version()));
  EXPECT_EQ(Get(Pods("a")).status, 200);
}

TEST_F(DeleteConformance, TheGraceIsThePodsOwnOrThatOfTheRequest) {
  MakeBound("own", R"(,"terminationGracePeriodSeconds":7)");
  EXPECT_TRUE(Has(Delete(Pods("own")).json, "metadata: {deletionGracePeriodSeconds: 7}"));
  MakeBound("negative");
  EXPECT_TRUE(
      Has(Delete(Pods("negative") + "?gracePeriodSeconds=-5").json, "metadata: {deletionGracePeriodSeconds: 1}"));
  MakeBound("none");
  EXPECT_EQ(Delete(Pods("none") + "?gracePeriodSeconds=0").status, 200);
  EXPECT_EQ(Get(Pods("none")).status, 404);
}

TEST_F(DeleteConformance, ASecondDeletionShortensTheGrace) {
  MakeBound("a");
  const Answer first = Delete(Pods("a"));
  const Answer second = Delete(Pods("a") + "?gracePeriodSeconds=10");
  EXPECT_TRUE(Has(second.json, "metadata: {deletionGracePeriodSeconds: 10, generation: 2}")) << second;
  EXPECT_EQ(TimeOf(first, "deletionTimestamp") - TimeOf(second, "deletionTimestamp"), absl::Seconds(20));
}

TEST_F(DeleteConformance, ASecondDeletionDoesNotLengthenTheGrace) {
  MakeBound("a");
  const Answer first = Delete(Pods("a") + "?gracePeriodSeconds=10");
  for (const char* query : {"?gracePeriodSeconds=20", "", "?gracePeriodSeconds=10"}) {
    const Answer second = Delete(Pods("a") + query);
    EXPECT_EQ(second.status, 200);
    EXPECT_TRUE(Has(second.json, "metadata: {deletionGracePeriodSeconds: 10}")) << second;
    EXPECT_EQ(second.version(), first.version()) << query;
  }
}

TEST_F(DeleteConformance, NoGraceEndsADeletionUnderWay) {
  MakeBound("a");
  Delete(Pods("a"));
  EXPECT_EQ(Delete(Pods("a"), J("gracePeriodSeconds: 0")).status, 200);
  EXPECT_EQ(Get(Pods("a")).status, 404);
}

TEST_F(DeleteConformance, AFinishedPodHasNoGrace) {
  MakeBound("a");
  Patch(Pods("a") + "/status", kMerge, J("status: {phase: Succeeded}"));
  Delete(Pods("a"));
  EXPECT_EQ(Get(Pods("a")).status, 404);
}

TEST_F(DeleteConformance, AFinalizerHoldsAPodWithoutGrace) {
  Post(Pods(), Body("Pod", "a", "spec: {containers: [{name: c, image: i}]}", "finalizers: [example.com/hold]"));
  const Answer gone = Delete(Pods("a"));
  EXPECT_TRUE(Has(gone.json, R"(metadata: {deletionTimestamp: "*", deletionGracePeriodSeconds: 0})")) << gone;
  EXPECT_EQ(Get(Pods("a")).status, 200);
  Patch(Pods("a"), kMerge, J("metadata: {finalizers: null}"));
  EXPECT_EQ(Get(Pods("a")).status, 404);
}

TEST_F(DeleteConformance, AFinalizerOfAPodInGraceMayGoBeforeThePodDoes) {
  Post(Pods(), Body("Pod", "a", "spec: {nodeName: somewhere, containers: [{name: c, image: i}]}",
                    "finalizers: [example.com/hold]"));
  Delete(Pods("a"));
  Patch(Pods("a"), kMerge, J("metadata: {finalizers: null}"));
  EXPECT_TRUE(Has(Get(Pods("a")).json, "metadata: {deletionGracePeriodSeconds: 30}"));
}

TEST_F(DeleteConformance, GraceIsForPodsAlone) {
  MakeConfig("a");
  EXPECT_EQ(Delete(Configs("a") + "?gracePeriodSeconds=30").status, 200);
  EXPECT_EQ(Get(Configs("a")).status, 404);
}

// ---- finalizers ----

TEST_F(DeleteConformance, AFinalizerHoldsTheObject) {
  const Answer made = MakeHeld("a");
  const Answer gone = Delete(Widgets("a"));
  EXPECT_EQ(gone.status, 200);
  EXPECT_TRUE(
      Has(gone.json, R"({kind: Widget, metadata: {deletionTimestamp: "*", deletionGracePeriodSeconds: 0, generation: 2,
      finalizers: [example.com/hold]}})"))
      << gone;
  EXPECT_GT(NumberOf(gone.version()), NumberOf(made.version()));
  Free("a");
  EXPECT_EQ(Get(Widgets("a")).status, 404);
}

TEST_F(DeleteConformance, TheWriteThatRemovesTheLastFinalizerIsAnswered) {
  MakeHeld("a");
  Delete(Widgets("a"));
  const Answer patched = Patch(Widgets("a"), kMerge, J("metadata: {finalizers: []}"));
  EXPECT_EQ(patched.status, 200);
  EXPECT_TRUE(Has(patched.json, R"({kind: Widget, metadata: {name: a, deletionTimestamp: "*", finalizers: null}})"))
      << patched;
  EXPECT_EQ(Get(Widgets("a")).status, 404);
}

TEST_F(DeleteConformance, ASecondDeletionChangesNothing) {
  MakeHeld("a");
  const Answer first = Delete(Widgets("a"));
  const Answer second = Delete(Widgets("a"));
  EXPECT_EQ(second.status, 200) << second;
  EXPECT_EQ(second.version(), first.version());
  EXPECT_EQ(second.At({"metadata", "deletionTimestamp"}), first.At({"metadata", "deletionTimestamp"}));
  Free("a");
}

TEST_F(DeleteConformance, NoFinalizerIsAddedToWhatIsBeingDeleted) {
  MakeHeld("a");
  Delete(Widgets("a"));
  const Answer patched = Patch(Widgets("a"), kMerge, J("metadata: {finalizers: [example.com/hold, example.com/more]}"));
  EXPECT_EQ(patched.status, 422) << patched;
  EXPECT_TRUE(absl::StartsWith(
      Why(patched),
      "FieldValueForbidden metadata.finalizers: Forbidden: no new finalizers can be added if the object is being "
      "deleted, found new finalizers []string{\"example.com/more\"}"));
  Free("a");
}

TEST_F(DeleteConformance, AnObjectBeingDeletedCanStillBeWritten) {
  MakeHeld("a");
  Delete(Widgets("a"));
  EXPECT_TRUE(Has(Patch(Widgets("a"), kMerge, J("spec: {replicas: 3}")).json,
                  "{metadata: {generation: 3}, spec: {replicas: 3}}"));
  EXPECT_TRUE(Has(Patch(Widgets("a") + "/status", kMerge, J("status: {phase: Going}")).json, "status: {phase: Going}"));
  Free("a");
}

TEST_F(DeleteConformance, OneOfTwoFinalizersDoesNotSuffice) {
  MakeWidget("a", "", "finalizers: [example.com/one, example.com/two]");
  Delete(Widgets("a"));
  Patch(Widgets("a"), kMerge, J("metadata: {finalizers: [example.com/two]}"));
  EXPECT_EQ(Get(Widgets("a")).status, 200);
  Free("a");
  EXPECT_EQ(Get(Widgets("a")).status, 404);
}

TEST_F(DeleteConformance, ANameIsNotFreeWhileItsObjectIsHeld) {
  MakeHeld("a");
  Delete(Widgets("a"));
  const Answer again = Post(Widgets(), WidgetBody("a"));
  EXPECT_EQ(again.status, 409) << again;
  EXPECT_EQ(again.message(), "object is being deleted: widgets.conformance.example.com \"a\" already exists");
  Free("a");
}

TEST_F(DeleteConformance, ThePreconditionsHoldForAHeldObjectToo) {
  MakeHeld("a");
  EXPECT_EQ(Delete(Widgets("a"), J("preconditions: {uid: other}")).status, 409);
  EXPECT_TRUE(Has(Get(Widgets("a")).json, "metadata: {deletionTimestamp: null}"));
  Free("a");
}

// ---- namespaces ----

TEST_F(DeleteConformance, ANamespaceTerminatesWithWhatIsInIt) {
  const std::string other = MakeNamespace();
  const std::string configs = fmt::format("/api/v1/namespaces/{}/configmaps", other);
  Post(configs, ConfigBody("a"));
  const Answer gone = Delete("/api/v1/namespaces/" + other);
  EXPECT_EQ(gone.status, 200);
  EXPECT_TRUE(Has(gone.json, R"({kind: Namespace, metadata: {deletionTimestamp: "*"}, status: {phase: Terminating}})"))
      << gone;
  EXPECT_TRUE(Eventually([&] { return Get("/api/v1/namespaces/" + other).status == 404; }, absl::Seconds(40)));
  EXPECT_EQ(Get(configs + "/a").status, 404);
}

TEST_F(DeleteConformance, TheDefaultNamespaceStays) {
  const Answer gone = Delete("/api/v1/namespaces/default");
  EXPECT_EQ(StatusText(gone), "403 Forbidden: namespaces \"default\" is forbidden: this namespace may not be deleted");
}

}  // namespace
}  // namespace basalt::conformance
