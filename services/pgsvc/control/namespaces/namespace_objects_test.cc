// The JSON and the indexes that a namespace keeps for views, and when they go.
#include "services/pgsvc/control/namespaces/namespace_objects.h"

#include <gtest/gtest.h>

#include <string>

#include "services/pgsvc/core/form/kai_emitter.h"

namespace basalt::pgsvc {
namespace {

TEST(NamespaceObjectsTest, PodsAreIndexedByLabelsForAsLongAsSomebodyWasGroupedByThem) {
  const KaiEmitter emitter{RuleOptions()};
  NamespaceObjects objects(emitter);
  kube::v1::Pod pod;
  pod.set_namespace_("default");
  pod.set_name("a");
  pod.set_uid("u1");
  kube::v1::KeyValue& label = *pod.mutable_grouping()->add_labels();
  label.set_key("app");
  label.set_value("x");
  objects.SetPod(std::move(pod));
  const PriorityClasses classes;
  const KartaSet kartas;
  const NamespaceView view(objects, classes, kartas);
  EXPECT_EQ(view.PodsWithLabels("default", {{"app", "x"}}).size(), 1u);
  EXPECT_TRUE(view.PodsWithLabels("default", {{"app", "y"}}).empty());
  EXPECT_TRUE(view.PodsWithLabels("default", {{"role", "z"}}).empty());
  EXPECT_EQ(objects.label_indices(), 2u);
  EXPECT_EQ(objects.made(), 1u);
  objects.DropMade();
  EXPECT_EQ(objects.made(), 0u);
  objects.Forget(LabelFact({"app"}, {"x"}));
  EXPECT_EQ(objects.label_indices(), 2u) << "somebody still asks for another value";
  objects.Forget(LabelFact({"app"}, {"y"}));
  objects.Forget(LabelFact({"role"}, {"z"}));
  EXPECT_EQ(objects.label_indices(), 0u);
  EXPECT_EQ(view.PodsWithLabels("default", {{"app", "x"}}).size(), 1u) << "the index is made again";
}

}  // namespace
}  // namespace basalt::pgsvc
