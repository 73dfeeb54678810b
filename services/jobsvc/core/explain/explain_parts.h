#pragma once

// What an explanation is made of, one file for each part; explain.cc puts them into their order. Pure.
#include <set>
#include <string>
#include <string_view>

#include "basalt/job/v1/job.pb.h"
#include "services/jobsvc/core/explain/explain.h"

namespace basalt::jobsvc {

// Of causes that differ in their subject alone.
inline constexpr size_t kMostAlike = 10;
inline constexpr std::string_view kFreeTheName = "Delete that object, or wait until it is gone.";
inline constexpr std::string_view kFreeTheOrphan = "Delete that object: nobody owns it, so it does not go by itself.";

// One explanation while it is made, and what is told once in it.
struct Explaining {
  const ExplainInput& in;
  job::v1::JobExplanation result = {};
  std::set<std::string, std::less<>> problems = {};  // Reasons of those that are told.
  bool scheduler = false;                            // The scheduler is quoted.
  std::set<int> beside = {};                         // Positions of causes that hold nothing up.

  const kube::v1::Job& job() const { return in.effects.job; }
  kube::v1::JobPhase phase() const { return job().status().phase(); }
  job::v1::Cause& Add(job::v1::Cause::Kind kind, std::string subject, std::string message, std::string advice = {});
};

// In ms; 0: it is not known, or there is no such time.
void SetSince(int64_t ms, job::v1::Cause& cause);
void SetUntil(int64_t ms, job::v1::Cause& cause);

// Since when the job is in its phase, in ms; 0: it is not remembered.
int64_t PhaseSince(const ExplainInput& in);
// Since when something is being made that every run begins with; 0: not known.
int64_t MadeSince(const ExplainInput& in, const RetryTime& retry);

// explain_end.cc: of a job that is over, or rests, how it ended and by which pods.
void ExplainEnd(Explaining& telling);

// explain_start.cc: what keeps pods from being placed and from starting, and those that start again and again.
void ExplainGroup(const Wait& wait, Explaining& telling);
void ExplainWaitingPods(Explaining& telling);
void ExplainRestartingPods(Explaining& telling);

// explain_problems.cc: what is refused.
// As what a problem is told of which no more is known than its words.
struct ProblemFrame {
  job::v1::Cause::Kind kind = job::v1::Cause::KIND_REFUSED;
  std::string subject = {};  // Empty: that of the problem.
  std::string advice = {};   // Empty: what helps against refusals.
};
// There is one.
void ExplainFailedCreate(Explaining& telling);
// False: there is no such problem.
bool ExplainProblem(std::string_view reason, const ProblemFrame& frame, Explaining& telling);
// Objects of plugins, and claims.
void ExplainObjects(const Wait& wait, Explaining& telling);
// Those that were not told beside what they hold up.
void ExplainOtherProblems(Explaining& telling);
// What was decided and is not in the status.
void ExplainStatusWrite(Explaining& telling);

}  // namespace basalt::jobsvc
