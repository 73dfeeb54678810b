#include "services/queuesvc/core/pod_group_counter.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "common/base/random.h"

namespace basalt::queuesvc {
namespace {

TEST(PodGroupCounterTest, CountsEqualARecountAfterAnyHistory) {
  SeededRandom random(11);
  const std::string_view phases[] = {"Pending", "Inqueue", "Running", "Unknown", "Completed", ""};
  PodGroupCounter counter;
  std::map<std::string, std::string_view> model;
  for (int step = 0; step < 5000; ++step) {
    const std::string uid = std::to_string(random.Uniform(40));
    if (random.OneIn(4)) {
      EXPECT_EQ(counter.Erase(uid), model.erase(uid) == 1);
    } else {
      const std::string_view phase = phases[random.Uniform(6)];
      counter.Set(uid, phase);
      model[uid] = phase;
    }
  }
  std::map<std::string_view, int> recount;
  for (const auto& [uid, phase] : model) ++recount[phase];
  EXPECT_EQ(counter.counts().pending(), recount["Pending"]);
  EXPECT_EQ(counter.counts().inqueue(), recount["Inqueue"]);
  EXPECT_EQ(counter.counts().running(), recount["Running"]);
  EXPECT_EQ(counter.counts().unknown(), recount["Unknown"]);
  EXPECT_EQ(counter.counts().completed(), recount["Completed"]);
  EXPECT_EQ(counter.total(), static_cast<int64_t>(model.size()));
}

}  // namespace
}  // namespace basalt::queuesvc
