#pragma once

// The parts of an explanation, one file for each; explain.cc puts them in order. Pure.
#include <set>
#include <string>
#include <string_view>

#include "basalt/job/v1/job.pb.h"
#include "services/jobsvc/core/explain/explain.h"

namespace basalt::jobsvc {

// The most causes that differ only in their subject.
inline constexpr size_t kMostAlike = 10;
inline constexpr std::string_view kFreeTheName = "Delete that object, or wait until it is gone.";
inline constexpr std::string_view kFreeTheOrphan = "Delete that object: nobody owns it, so it does not go by itself.";

// An explanation while it is being made, with the facts that keep it from repeating itself.
struct Explaining {
  const ExplainInput& in;
  job::v1::JobExplanation result = {};
  std::set<std::string, std::less<>> problems = {};  // Reasons of the problems explained so far.
  bool scheduler = false;                            // The scheduler's message is quoted.
  std::set<int> beside = {};                         // Positions of causes that hold nothing up.

  const kube::v1::Job& job() const { return in.effects.job; }
  kube::v1::JobPhase phase() const { return job().status().phase(); }
  job::v1::Cause& Add(job::v1::Cause::Kind kind, std::string subject, std::string message, std::string advice = {});
};

// `ms` is 0 if the time is unknown, or if there is no such time.
void SetSince(int64_t ms, job::v1::Cause& cause);
void SetUntil(int64_t ms, job::v1::Cause& cause);

// Returns since when the job is in its phase, in ms. 0 if that is not remembered.
int64_t PhaseSince(const ExplainInput& in);
// Returns since when an object is being made with which every run begins, in ms. 0 if unknown.
int64_t MadeSince(const ExplainInput& in, const RetryTime& retry);

// explain_end.cc: how a job ended that is over or rests, and which pods failed.
void ExplainEnd(Explaining& draft);

// explain_start.cc: why pods are not placed or do not start, and which pods restart again and again.
void ExplainGroup(const Wait& wait, Explaining& draft);
void ExplainWaitingPods(Explaining& draft);
void ExplainRestartingPods(Explaining& draft);

// explain_problems.cc: refusals. The frame completes a problem of which only the message is known.
struct ProblemFrame {
  job::v1::Cause::Kind kind = job::v1::Cause::KIND_REFUSED;
  std::string subject = {};  // Empty for the subject of the problem.
  std::string advice = {};   // Empty for the advice against refusals.
};
// Requires that there is a FailedCreate.
void ExplainFailedCreate(Explaining& draft);
// Returns false if there is no such problem.
bool ExplainProblem(std::string_view reason, const ProblemFrame& frame, Explaining& draft);
// Explains what is missing of the objects of plugins, and of claims.
void ExplainObjects(const Wait& wait, Explaining& draft);
// Explains the problems that no other part has explained.
void ExplainOtherProblems(Explaining& draft);
// Explains why a decision is not in the status yet.
void ExplainStatusWrite(Explaining& draft);

}  // namespace basalt::jobsvc
