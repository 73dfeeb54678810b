#pragma once

// Serves the calls of jobsvc about the group of a job: one call about a group after the other, each with one attempt.
// Confined to the worker's loop.
#include <string>

#include "absl/status/status.h"
#include "services/pgsvc/control/compat/compat_group.h"
#include "services/pgsvc/control/group/group_writes.h"

namespace basalt::pgsvc {

class JobCalls {
 public:
  // `context` and `writes` outlive this object.
  JobCalls(runtime::Context& context, GroupWrites& writes) : context_(context), writes_(writes) {}

  // Checks that a call about the group may wait for its turn. `group` is null if nothing is known of the group.
  absl::Status Check(const std::string& ns, const std::string& name, const std::string& job_uid,
                     const CompatGroup* group) const;
  // Queues `call`, which begins when its turn comes.
  void Wait(const GroupRef& ref, CompatGroup& group, JobCall call);
  // Answers the calls that can be answered, and sends the write that the next one needs.
  void Serve(const GroupRef& ref, CompatGroup& group);
  // The write for the first call was answered.
  void OnAnswer(const GroupRef& ref, CompatGroup& group, GroupAnswer& answer);
  // The group was read. `is_known` is true if the read has shown whether the group exists.
  void OnRead(const GroupRef& ref, CompatGroup& group, bool is_known);
  // Refuses all calls, since the slot has closed.
  void RefuseAll(CompatGroup& group, const absl::Status& why);

 private:
  void RefuseLate(const GroupRef& ref, CompatGroup& group);
  void ServeEnsure(const GroupRef& ref, CompatGroup& group, const podgroup::v1::EnsurePodGroupRequest& request);
  void ServeDeletion(const GroupRef& ref, CompatGroup& group, DeleteCall& call);
  void Send(const GroupRef& ref, CompatGroup& group, GroupStep step);

  runtime::Context& context_;
  GroupWrites& writes_;
};

}  // namespace basalt::pgsvc
