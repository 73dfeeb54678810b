#pragma once

// One job for tests of its claims and of the objects of its plugins: the requests to Kubernetes, and the objects that
// are there.
#include <cstdint>
#include <string>
#include <string_view>

#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {

class ObjectsTest : public PartTest {
 protected:
  enum class Asked : uint8_t { kNothing, kRead, kCreate, kPatch, kDelete };

  // Returns an object of UID object-uid and version 5. Nobody owns it if `owner` is empty.
  static kube::v1::Object ObjectOf(const std::string& owner) {
    kube::v1::Object object;
    kube::v1::ObjectMeta& meta = *object.mutable_generic()->mutable_meta();
    meta.set_uid("object-uid");
    meta.set_resource_version(5);
    if (!owner.empty()) meta.add_owner_references()->set_uid(owner);
    return object;
  }
  static gateway::v1::GetResponse Found(const std::string& owner) {
    gateway::v1::GetResponse response;
    *response.mutable_object() = ObjectOf(owner);
    return response;
  }

  // Applies the part under a status that names the objects that the job wants.
  void Apply() {
    for (const WantedObject& object : job.compiled->objects) job.persisted.objects.try_emplace(object.Key());
    job.plugin_objects.Apply(job, host);
  }
  // Returns the one request that is under way.
  Asked WhatIsAsked() const {
    EXPECT_LE(context.gets.size() + context.writes.size(), 1U);
    if (!context.gets.empty()) return Asked::kRead;
    if (context.writes.empty()) return Asked::kNothing;
    const gateway::v1::WriteRequest& request = context.writes.front().request;
    if (request.has_create()) return Asked::kCreate;
    return request.has_patch() ? Asked::kPatch : Asked::kDelete;
  }
  // Checks the answers to the create that the part sends first. `begin` begins anew, `is_there` returns whether the
  // part takes the object for made.
  template <typename Begin, typename IsThere>
  void CheckCreateAnswers(std::string_view reason, Begin begin, IsThere is_there) {
    using runtime::testing::Refused;
    using Kind = runtime::WriteOutcome::Kind;
    struct Case {
      const char* what;
      runtime::WriteOutcome outcome;
      Asked next;
      bool is_there;
      bool backs_off;
      bool has_problem;
    };
    const Case cases[] = {
        {"made", runtime::testing::Done(ObjectOf("job-uid")), Asked::kNothing, true, false, false},
        {"the name is taken", Refused(409, "AlreadyExists"), Asked::kRead, false, false, false},
        {"a quota is written", Refused(409, "Conflict"), Asked::kNothing, false, true, false},
        {"forbidden", Refused(403, "Forbidden", "no"), Asked::kNothing, false, true, true},
        {"no namespace", Refused(404, "NotFound", "no"), Asked::kNothing, false, true, true},
        {"invalid", Refused(422, "Invalid", "no"), Asked::kNothing, false, true, true},
        {"too many", Refused(429, "TooManyRequests"), Asked::kNothing, false, true, false},
        {"not sent", {.kind = Kind::kNotSent}, Asked::kNothing, false, true, false},
        {"no answer", {.kind = Kind::kUnknown}, Asked::kNothing, false, true, false},
    };
    for (const Case& test : cases) {
      SCOPED_TRACE(test.what);
      begin();
      Apply();
      Answer(test.outcome);
      Apply();
      EXPECT_EQ(WhatIsAsked(), test.next);
      EXPECT_EQ(is_there(), test.is_there);
      EXPECT_EQ(BacksOff(), test.backs_off);
      EXPECT_EQ(job.problems.has(reason), test.has_problem);
      EXPECT_EQ(Passes().contains(job.key), test.next == Asked::kNothing) << "a pass makes something of it";
      EXPECT_EQ(Passes(absl::Seconds(1)).contains(job.key), test.backs_off);
      Apply();
      EXPECT_EQ(WhatIsAsked(), test.backs_off ? Asked::kCreate : test.next);
    }
  }
  bool BacksOff() const { return job.plugin_objects.retry().Blocks(host.Now()); }
  bool HasFailed() const { return job.plugin_objects.retry().since().has_value(); }
};

}  // namespace basalt::jobsvc::testing
