#pragma once

// One rig after the other, in which each write in turn does not arrive, or its answer does not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/testing/controller_rig/controller_rig.h"

namespace basalt::testing {

// Each rig is started and prepared; then `act` runs, for a minute, in which one write is lost. `check` is called at the
// end of each; `undisturbed`: nothing was lost, since `act` has fewer writes. `prepare` may be empty.
template <class Rig>
void LoseEachWrite(const std::function<void(Rig&)>& prepare, const std::function<void(Rig&)>& act,
                   const std::function<void(Rig&, bool undisturbed)>& check) {
  for (const Fate fate : {Fate::kNotSent, Fate::kLostRequest, Fate::kLostAnswer}) {
    int lost = 0;
    bool was_lost = true;
    while (was_lost) {
      SCOPED_TRACE(fmt::format("fate {} of write {}", static_cast<int>(fate), ++lost));
      Rig rig;
      rig.Start();
      if (prepare) prepare(rig);
      int writes = 0;
      rig.fate = [&](const gateway::v1::WriteRequest&) { return ++writes == lost ? fate : Fate::kNormal; };
      act(rig);
      rig.Run(absl::Minutes(1));
      was_lost = writes >= lost;
      rig.fate = nullptr;
      check(rig, !was_lost);
    }
    EXPECT_GT(lost, 1) << "it has written something";
  }
}

}  // namespace basalt::testing
