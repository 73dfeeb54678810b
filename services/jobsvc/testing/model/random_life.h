#pragma once

// Random jobs, and lives of them over a JobRig: quiet ones, and those in which states are merged and doubled, the
// process dies at any point and its disk is lost.
#include <string>
#include <vector>

#include "common/base/random.h"
#include "services/jobsvc/testing/model/reference_model.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {

// Few pods, so that the reference model can follow every order; accepted as it is, with the defaults that the model
// reads. At most one of its claims is made by somebody else.
kube::v1::Job RandomJob(Random& random);
inline constexpr char kLateClaim[] = "data";
bool WaitsForClaim(const kube::v1::JobSpec& spec);

class Life {
 public:
  // `disturbed`: null for a quiet life.
  Life(const kube::v1::Job& job, Random* disturbed);

  bool IsOver() const;
  kube::v1::JobPhase phase() const { return rig_.PhaseOf("default/j"); }
  // What may happen next: `starts`: pods start; else other things, at most three, and nothing but good ones if `well`.
  std::vector<Fact> Draw(Random& random, bool starts, bool well);
  // A window of the reference model. True: a disk was lost in it.
  bool Happen(const std::vector<Fact>& facts);

  std::string Sight();
  // Phase, counts and the set of objects.
  std::string End();
  // Beside the phase: what the controller counts is what is there; "": nothing.
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
