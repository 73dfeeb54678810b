#pragma once

// What may become of a job, from job spec 6 to 9 with the repairs of 15.1, written a second time: slow, and of nothing
// that the product is made of. Time goes in windows: what happens in one happens at its beginning, and all that follows
// is over before the next. The facts of a window, and what is due in it, are delivered in any order and merged in any
// way; what one delivery led to may or may not have come to rest when the next one comes. Every world that some
// delivery leads to is admitted.
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

// Something that happens to a pod that is there, or to the whole job.
struct Fact {
  enum class What {
    kStart,
    kSuccess,
    kFailure,   // `number`: exit code.
    kRemoval,   // By somebody else.
    kRestarts,  // Of containers, `number` of them.
    kUnknown,   // The PodGroup becomes Unknown, until the window is over.
    kClaim,     // What the job waited for is there.
  } what = What::kSuccess;
  int task = -1;
  int index = -1;
  int number = 0;
};

// The timeout of a policy that is due so many windows after its event, at least 1; whatever happens in a window is over
// before its end.
inline constexpr int64_t kWindowMs = 300'000;
constexpr int64_t TimeoutOf(int windows) { return windows * kWindowMs + 2'000; }

// A place of a job and what is there.
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
  bool is_older = false;   // Kept by a kill: of an older version.
  bool is_ending = false;  // Killed by one that would keep it if it had ended in time.
  int pod = 0;             // How often one was made here since the window began.
  int restarts = 0;        // Of its containers.
  friend auto operator<=>(const Cell&, const Cell&) = default;
};
using Cells = std::vector<std::vector<Cell>>;
// Of so many cells the state is one of these.
int CountOf(const std::vector<Cell>& cells, std::string_view states);

// What can be seen of a job that is at rest.
std::string SightOf(kube::v1::JobPhase phase, int retries, int version, const kube::v1::PodCounts& counts,
                    const Cells& cells);

class ReferenceModel {
 public:
  // `spec` outlives the model, is one that is accepted, and has every default filled in.
  explicit ReferenceModel(const kube::v1::JobSpec& spec, bool waits_for_claim = false);

  // The next window. `may_lose`: nobody may have noticed that a pod was removed, and what only a disk tells may be
  // gone.
  void Happen(const std::vector<Fact>& facts, bool may_lose);

  std::set<std::string> Sights() const;
  // Gives up the worlds that look otherwise.
  void See(const std::string& sight);
  size_t size() const { return worlds_.size(); }

 private:
  using Place = std::pair<int, int>;  // Task, index; -1, -1: the whole job.
  // What a policy has answered to an event.
  struct Answer {
    std::string event;
    std::string action;
    Place place;
    int pod = 0;      // Cell::pod; negative: before this window's.
    int version = 0;  // -1: of none.
    int due = 0;      // A window; 0: at once.
    friend auto operator<=>(const Answer&, const Answer&) = default;
  };
  struct World {
    kube::v1::JobPhase phase = kube::v1::JOB_PHASE_PENDING;
    int retries = 0;
    int version = 0;
    int version_before = 0;  // When the window began.
    bool is_blocked = false;
    Cells cells;
    std::map<Place, Answer> deadlines;
    std::vector<Answer> asked;  // To be carried out in this order.
    friend auto operator<=>(const World&, const World&) = default;
  };
  // A fact, what is due, or the loss of what a disk alone tells.
  struct Item {
    enum class What { kFact, kDue, kLoss } what = What::kFact;
    Fact fact;
    std::string kind;  // Of what may be delivered in their order without loss; empty: in any.
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
