#pragma once

// The states that a job may reach, by job spec 6 to 9 with the repairs of 15.1. The rules are written a second time:
// slow, and without any code of the product. Time goes in windows: facts happen at the beginning of a window, and all
// consequences are over before the next one. The facts of a window, and the deadlines that are due in it, are delivered
// in any order and merged in any way. The consequences of one delivery may or may not be complete when the next one
// comes. Every world to which some delivery leads is admitted.
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::jobsvc::testing {

// An event in the life of an existing pod, or of the whole job.
struct Fact {
  enum class What {
    kStart,
    kSuccess,
    kFailure,   // `number` is the exit code.
    kRemoval,   // Somebody else removes the pod.
    kRestarts,  // Containers restart `number` times.
    kUnknown,   // The PodGroup is Unknown until the window is over.
    kClaim,     // The claim for which the job waits comes.
  } what = What::kSuccess;
  int task = -1;
  int index = -1;
  int number = 0;
};

// The timeout of a policy whose deadline comes this many windows after its event, at least 1. The facts of a window
// happen before its end.
inline constexpr int64_t kWindowMs = 300'000;
constexpr int64_t TimeoutOf(int windows) { return windows * kWindowMs + 2'000; }

// A place of a job, and its pod.
struct Cell {
  enum State : char {
    kNothing = '-',
    kMade = 'p',  // Pending.
    kAlive = 'r',
    kSucceeded = 's',
    kBroken = 'f',
    kDone = 'd',  // Succeeded, and the pod is gone (W19).
  };
  State state = kNothing;
  bool is_older = false;   // A kill kept the pod: it is of an older version.
  bool is_ending = false;  // A kill takes the pod that would have kept it if it had ended in time.
  int pod = 0;             // How often a pod was made here since the window began.
  int restarts = 0;        // Restarts of the pod's containers.
  friend auto operator<=>(const Cell&, const Cell&) = default;
};
using Cells = std::vector<std::vector<Cell>>;
// Counts the cells whose state is one of these.
int CountOf(const std::vector<Cell>& cells, std::string_view states);

// Returns the visible state of a job at rest.
std::string SightOf(kube::v1::JobPhase phase, int retries, int version, const kube::v1::PodCounts& counts,
                    const Cells& cells);

class ReferenceModel {
 public:
  // `spec` must outlive the model. It is accepted, and has every default filled in.
  explicit ReferenceModel(const kube::v1::JobSpec& spec, bool waits_for_claim = false);

  // Goes to the next window. `may_lose`: it may be that no process has noticed the removal of a pod, and that
  // information on the disk alone is gone.
  void Happen(const std::vector<Fact>& facts, bool may_lose);

  std::set<std::string> Sights() const;
  // Drops the worlds with another visible state.
  void See(const std::string& sight);
  size_t size() const { return worlds_.size(); }

 private:
  using Place = std::pair<int, int>;  // Task, index. (-1, -1) is the whole job.
  // The answer of a policy to an event.
  struct Answer {
    std::string event;
    std::string action;
    Place place;
    int pod = 0;      // Cell::pod. Negative if the pod was made before this window.
    int version = 0;  // -1 if the event carries no version.
    int due = 0;      // A window. 0 if the action is due at once.
    friend auto operator<=>(const Answer&, const Answer&) = default;
  };
  struct World {
    kube::v1::JobPhase phase = kube::v1::JOB_PHASE_PENDING;
    int retries = 0;
    int version = 0;
    int version_before = 0;  // The version when the window began.
    bool is_blocked = false;
    Cells cells;
    std::map<Place, Answer> deadlines;
    std::vector<Answer> asked;  // Requested actions, in the order in which they are carried out.
    friend auto operator<=>(const World&, const World&) = default;
  };
  // A fact, a due deadline, or the loss of information that only a disk has.
  struct Item {
    enum class What { kFact, kDue, kLoss } what = What::kFact;
    Fact fact;
    // Items of one kind are delivered in their order, which loses no world. Empty if the order matters.
    std::string kind;
  };

  class Window;
  static std::string SightOfWorld(const World& world);
  static bool IsLive(const World& world);
  static Cell* At(World& world, Place place);
  static int Restarts(const World& world, int task);

  std::vector<World> Observe(const World& world, const Fact& fact, bool may_lose) const;
  std::vector<World> Remove(const World& world, const Fact& fact, bool may_lose) const;
  std::vector<World> Restart(const World& world, const Fact& fact, bool may_lose) const;
  void End(World& world, const Fact& fact) const;
  void Expire(World& world, Place place) const;
  std::vector<World> Lose(const World& world) const;
  int MostRestarts(int task) const;
  void Raise(World& world, const std::string& event, Place place, int exit_code = 0) const;
  static void AddDeadline(World& world, const Answer& answer);
  static void Cancel(World& world, const std::string& event, Place place);
  static bool StillHolds(World& world, const Answer& answer);

  void Act(World& world) const;
  void KillAll(World& world, bool keeps) const;
  void KillSome(World& world, const Answer& answer) const;
  std::vector<Place> TargetsOf(World& world, const Answer& answer) const;
  void CleanUp(World& world, const Answer& done) const;
  int PartitionOf(Place place) const;

  void Rest(World& world) const;
  void Make(World& world) const;
  bool MayStart(const World& world, int task) const;
  bool IsReady(const World& world, const std::string& task) const;
  bool CanNeverStart(const World& world, int task) const;
  kube::v1::JobPhase Conclude(const World& world) const;

  const kube::v1::JobSpec& spec_;
  int window_ = 0;
  std::set<World> worlds_;
};

}  // namespace basalt::jobsvc::testing
