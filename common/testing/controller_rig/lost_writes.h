#pragma once

// Runs one rig after the other, and loses each write, or its answer, in turn.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/testing/controller_rig/controller_rig.h"

namespace basalt::testing {

// Starts and prepares one rig after the other. Loses one write of `act` and the minute after, then calls `check`.
// `undisturbed` is true if no write was lost, since the rig has fewer writes. `prepare` may be empty.
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
