#include "services/queuesvc/core/pod_group_counter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/random.h"

namespace basalt::queuesvc {
namespace {

TEST(PodGroupCounterTest, CountsEqualARecountAfterAnyHistory) {
  SeededRandom random(11);
  const std::string_view phases[] = {"Pending", "Inqueue", "Running", "Unknown", "Completed", ""};
  PodGroupCounter counter;
  std::map<std::string, std::string_view> model;
  for (int step = 0; step < 5000; ++step) {
    const uint64_t number = random.Uniform(40);
    // A UID in the API server's form, one with the same digits in another form, or one in no form.
    const std::string uid = number % 4 == 0   ? fmt::format("{}", number)
                            : number % 4 == 1 ? fmt::format("0000000A-0000-4000-8000-{:012x}", number)
                                              : fmt::format("0000000a-0000-4000-8{:x}00-{:012x}", number, number % 7);
    if (random.OneIn(4)) {
      EXPECT_EQ(counter.Erase(uid), model.erase(uid) == 1);
    } else {
      const std::string_view phase = phases[random.Uniform(6)];
      counter.Set(uid, "ns/" + uid, phase);
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

TEST(PodGroupCounterTest, TheFirstNamesAreTold) {
  PodGroupCounter counter;
  EXPECT_TRUE(counter.Names(3).empty());
  for (const char* name : {"b/2", "a/1", "c/3", "a/0"}) counter.Set(std::string("uid-of-") + name, name, "Running");
  EXPECT_EQ(counter.Names(3), (std::vector<std::string>{"a/0", "a/1", "b/2"}));
  counter.Erase("uid-of-a/0");
  EXPECT_EQ(counter.Names(9), (std::vector<std::string>{"a/1", "b/2", "c/3"}));
}

}  // namespace
}  // namespace basalt::queuesvc
