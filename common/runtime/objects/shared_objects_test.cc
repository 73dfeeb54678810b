#include "common/runtime/objects/shared_objects.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/runtime/objects/object_identity.h"

namespace basalt::runtime {
namespace {

using Trace = std::vector<std::string>;

class SharedObjectsTest : public ::testing::Test {
 protected:
  static kube::v1::Object Queue(const std::string& name, const std::string& uid, int64_t rv) {
    kube::v1::Object object;
    object.mutable_queue()->mutable_meta()->set_name(name);
    object.mutable_queue()->mutable_meta()->set_uid(uid);
    object.mutable_queue()->mutable_meta()->set_resource_version(rv);
    return object;
  }
  void State(const std::string& name, const std::string& uid, int64_t rv) {
    gateway::v1::ObjectState state;
    state.set_watch("queues");
    *state.mutable_object() = Queue(name, uid, rv);
    objects_.State(state, emit_);
  }
  void Tomb(const std::string& name, const std::string& uid, int64_t rv) {
    gateway::v1::Tombstone tombstone;
    tombstone.set_watch("queues");
    *tombstone.mutable_last() = Queue(name, uid, rv);
    objects_.Tombstone(tombstone, emit_);
  }
  void Mark(int64_t rv, gateway::v1::Mark::State state = gateway::v1::Mark::STATE_READY) {
    gateway::v1::Mark mark;
    mark.set_watch("queues");
    mark.set_resource_version(rv);
    mark.set_state(state);
    objects_.Mark(mark, emit_);
  }
  Trace Take() { return std::exchange(trace_, {}); }

  Trace trace_;
  SharedObjects objects_;
  const SharedObjects::Emit emit_ = [this](SharedEvent event) {
    const ObjectIdentity identity = Identify(*event.object);
    trace_.push_back(
        fmt::format("{}{}/{}@{}", event.gone ? "-" : "+", identity.name, identity.uid, identity.resource_version));
  };
};

TEST_F(SharedObjectsTest, StatesComeInOrderAndOnce) {
  State("q", "u", 5);
  State("q", "u", 4);
  State("q", "u", 5);
  State("q", "u", 6);
  EXPECT_EQ(Take(), (Trace{"+q/u@5", "+q/u@6"}));
}

TEST_F(SharedObjectsTest, AnotherUidEndsTheOldOneFirst) {
  State("q", "u", 5);
  State("q", "v", 7);
  Tomb("q", "u", 6);
  EXPECT_EQ(Take(), (Trace{"+q/u@5", "-q/u@5", "+q/v@7"}));
}

TEST_F(SharedObjectsTest, AfterANewStreamWhatAMarkHasPassedUnmentionedIsGone) {
  State("kept", "a", 5);
  State("lost", "b", 6);
  State("newer", "c", 50);
  Take();
  objects_.NewStream();
  State("kept", "a", 5);
  Mark(20, gateway::v1::Mark::STATE_ABSENT);
  EXPECT_EQ(Take(), Trace{});
  Mark(20);
  EXPECT_EQ(Take(), Trace{"-lost/b@6"});
  Mark(50);
  EXPECT_EQ(Take(), Trace{"-newer/c@50"});
  EXPECT_NE(objects_.Find("queues", "", "kept"), nullptr);
}

TEST_F(SharedObjectsTest, AnAnswerThatThereIsNothingIsPassedOn) {
  Tomb("q", "", 0);
  EXPECT_EQ(Take(), Trace{"-q/@0"});
  State("q", "u", 5);
  Tomb("q", "", 0);
  EXPECT_EQ(Take(), (Trace{"+q/u@5", "-q/u@5"}));
}

}  // namespace
}  // namespace basalt::runtime
