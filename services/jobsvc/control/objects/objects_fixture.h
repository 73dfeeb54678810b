#pragma once

// One job for tests of its claims and of the objects of its plugins: the requests to Kubernetes, and the objects that
// are there.
#include <cstdint>
#include <string>

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
  bool BacksOff() const { return job.plugin_objects.retry().Blocks(host.Now()); }
  bool HasFailed() const { return job.plugin_objects.retry().since().has_value(); }
};

}  // namespace basalt::jobsvc::testing
