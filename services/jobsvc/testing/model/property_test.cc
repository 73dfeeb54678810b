// Random jobs and random histories of their pods, undisturbed and disturbed: states are merged and doubled, the process
// dies at any point, its disk is lost. In every window, the state of a job is one that the reference model admits.
// Where the model admits one state alone, every run has that state.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "services/jobsvc/testing/model/random_life.h"
#include "services/jobsvc/testing/model/reference_model.h"

namespace basalt::jobsvc::testing {
namespace {

#ifdef BASALT_FEW_SEEDS
constexpr uint64_t kSeeds = 60;
#else
constexpr uint64_t kSeeds = 300;
#endif
constexpr int kMostWindows = 80;
constexpr int kWellAfter = 50;  // Windows, after which only good things happen.

std::string Text(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) {
    text += fmt::format(" {}{}.{}", "+SFE!UC"[static_cast<int>(fact.what)], fact.task, fact.index);
    if (fact.number != 0) text += fmt::format(":{}", fact.number);
  }
  return text + ";";
}

std::string Text(const kube::v1::JobSpec& spec) {
  kube::v1::JobSpec brief = spec;
  for (kube::v1::TaskSpec& task : *brief.mutable_tasks()) task.clear_template_json();
  return "\n" + brief.DebugString();
}

// Returns the facts of the next window: in turn, those of pods that start, and others.
std::vector<Fact> Next(Random& random, Life& life, const kube::v1::JobSpec& spec, int window, size_t most) {
  const bool well = window > kWellAfter;
  std::vector<Fact> facts = life.Draw(random, /*starts=*/window % 2 == 1, well);
  if (window % 2 == 0 && facts.size() > most) facts.resize(most);
  if (window == 3 && WaitsForClaim(spec)) facts.push_back({.what = Fact::What::kClaim});
  return facts;
}

// The facts happen together, and some may be observed by no process.
TEST(PropertyTest, AProjectedLifeIsOneThatTheReferenceModelAdmits) {
  std::map<kube::v1::JobPhase, int> ends;
  int windows = 0;
  int undecided = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SeededRandom random(seed);
    const bool disturbed = !random.OneIn(4);
    const kube::v1::Job job = RandomJob(random);
    ReferenceModel model(job.spec(), WaitsForClaim(job.spec()));
    Life life(job, disturbed ? &random : nullptr);
    std::string story;
    for (int window = 1; window < kMostWindows && !life.IsOver(); ++window) {
      const std::vector<Fact> facts = Next(random, life, job.spec(), window, 3);
      story += Text(facts);
      const bool lost = life.Happen(facts);
      if (lost) story += "(lost)";
      model.Happen(facts, lost);
      const auto admitted = model.Sights();
      ++windows;
      if (admitted.size() > 1) ++undecided;
      model.See(life.Sight());
      ASSERT_NE(model.size(), 0u) << "seed " << seed << ":" << story << "\n"
                                  << life.Sight() << "\nadmitted: " << fmt::format("{}", fmt::join(admitted, "\n"))
                                  << Text(job.spec());
    }
    ++ends[life.phase()];
    EXPECT_EQ(life.Problem(), "") << "seed " << seed;
  }
  for (const auto phase : {kCompleted, kFailed, kAborted, kube::v1::JOB_PHASE_TERMINATED}) {
    EXPECT_GE(ends[phase], static_cast<int>(kSeeds / 30)) << "phase " << static_cast<int>(phase);
  }
  EXPECT_LT(undecided, windows / 8) << "the model admits too much to tell anything";
}

// The facts happen one after the other.
TEST(PropertyTest, AProjectedLifeIsTheUndisturbedOneWhereEveryEndIsSeen) {
  int windows = 0;
  int undecided = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SeededRandom random(seed + 10'000);
    const kube::v1::Job job = RandomJob(random);
    ReferenceModel model(job.spec(), WaitsForClaim(job.spec()));
    Life quiet(job, nullptr);
    Life projected(job, &random);
    std::string story;
    for (int window = 1; window < kMostWindows && !quiet.IsOver(); ++window) {
      std::vector<Fact> facts = Next(random, quiet, job.spec(), window, 1);
      std::erase_if(facts, [](const Fact& fact) { return fact.what == Fact::What::kRemoval; });
      story += Text(facts);
      quiet.Happen(facts);
      model.Happen(facts, projected.Happen(facts));
      ++windows;
      ASSERT_TRUE(model.Sights().contains(quiet.Sight()))
          << "seed " << seed << ":" << story << "\n"
          << quiet.Sight() << "\nadmitted: " << fmt::format("{}", fmt::join(model.Sights(), "\n")) << Text(job.spec());
      if (model.size() > 1) {
        ++undecided;
        break;
      }
      ASSERT_EQ(projected.End(), quiet.End()) << "seed " << seed << ":" << story << Text(job.spec());
    }
  }
  EXPECT_LT(undecided, windows / 8) << "too much depends on the order to compare anything";
}

}  // namespace
}  // namespace basalt::jobsvc::testing
