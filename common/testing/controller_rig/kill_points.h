#pragma once

// Runs one rig after the other, and kills the process at each point in turn.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>

#include "common/testing/controller_rig/controller_rig.h"

namespace basalt::testing {

// The point at which the process of one life is killed, and whether its disk is lost.
class KillPoint {
 public:
  KillPoint(int point, bool loses_disk) : point_(point), loses_disk_(loses_disk) {}

  // Lets the process of `rig` die at the point, counted from now on.
  void Arm(ControllerRig& rig) const { rig.KillAt(point_); }
  // Starts the next process if the first one has been killed, and returns whether it has.
  bool Restart(ControllerRig& rig) {
    if (rig.alive()) return false;
    was_killed_ = true;
    if (loses_disk_) rig.LoseDisk();
    rig.Start();
    return true;
  }

  bool loses_disk() const { return loses_disk_; }
  bool was_killed() const { return was_killed_; }

 private:
  const int point_;
  const bool loses_disk_;
  bool was_killed_ = false;
};

// Calls `life` for the first point, the second, …, until a life ends before its process is killed. `life` makes a rig,
// arms the point, and restarts the process. Each life must have more than `points` points. Does all this once for each
// value of `loses_disk`.
inline void KillAtEachPoint(int points, const std::function<void(KillPoint& kill)>& life,
                            std::initializer_list<bool> loses_disk = {false, true}) {
  for (const bool loses : loses_disk) {
    int point = 0;
    bool was_killed = true;
    while (was_killed) {
      SCOPED_TRACE(fmt::format("killed at point {}{}", ++point, loses ? ", disk lost" : ""));
      KillPoint kill(point, loses);
      life(kill);
      was_killed = kill.was_killed();
    }
    EXPECT_GT(point, points) << "it was hardly ever killed";
  }
}

// Starts and prepares one rig after the other. Kills each at one point of `act` or of the five seconds after, starts
// the next process, and calls `check`. `undisturbed` is true if no process was killed. `prepare` may be empty.
template <class Rig>
void KillAtEachPointOf(const std::function<void(Rig&)>& prepare, const std::function<void(Rig&)>& act,
                       const std::function<void(Rig&, bool undisturbed)>& check,
                       std::initializer_list<bool> loses_disk = {false, true}) {
  const auto life = [&](KillPoint& kill) {
    Rig rig;
    rig.Start();
    if (prepare) prepare(rig);
    kill.Arm(rig);
    act(rig);
    rig.Run(absl::Seconds(5));
    kill.Restart(rig);
    rig.KillAt(0);
    check(rig, !kill.was_killed());
  };
  KillAtEachPoint(4, life, loses_disk);
}

}  // namespace basalt::testing
