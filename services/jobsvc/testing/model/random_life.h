#pragma once

// Random jobs, and their lives in a JobRig: quiet ones, and those in which states are merged and doubled, the process
// dies at any point and its disk is lost.
#include <string>
#include <vector>

#include "common/base/random.h"
#include "services/jobsvc/testing/model/reference_model.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {

// Returns a job of few pods, so that the reference model can follow every order. The job is valid as it is, with the
// defaults that the model reads. Somebody else makes one of its claims at most.
kube::v1::Job RandomJob(Random& random);
inline constexpr char kLateClaim[] = "data";
bool WaitsForClaim(const kube::v1::JobSpec& spec);

class Life {
 public:
  // `disturbed` is null for a quiet life.
  Life(const kube::v1::Job& job, Random* disturbed);

  bool IsOver() const;
  kube::v1::JobPhase phase() const { return rig_.PhaseOf("default/j"); }
  // Returns what may happen next. If `starts`, pods start. Otherwise at most three other things happen, and only good
  // ones if `well`.
  std::vector<Fact> Draw(Random& random, bool starts, bool well);
  // Carries out a window of the reference model. Returns whether a disk was lost in it.
  bool Happen(const std::vector<Fact>& facts);

  std::string Sight();
  // Returns phase, counts and the set of objects.
  std::string End();
  // Returns the difference between the counts of the status and a recount. Empty if there is none.
  std::string Problem();

 private:
  void Carry(const Fact& fact);
  void Disturb();
  void RunToQuiet();
  absl::Duration SomeTime();
  std::string NameOf(const Fact& fact) const;
  int RestartsOf(int task);

  Random* const random_;
  JobRig rig_;
  absl::Time window_;
  bool twice_ = false;
  bool lost_ = false;
};

}  // namespace basalt::jobsvc::testing
