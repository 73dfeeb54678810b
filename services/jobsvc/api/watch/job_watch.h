#pragma once

// One client's watch, at any replica: the parts of all owners as one feed. Where a part ends, or its slots have other
// owners, it goes on at the new owners from where it was. Confined to its loop.
//
// Holds at most one message of each part: who is slow is told fewer states by the owners (watch_hub.h).
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "basalt/job/v1/job_part.pb.h"
#include "common/base/slot_set.h"
#include "common/exec/loop.h"
#include "common/rpc/feed.h"
#include "common/rpc/members.h"
#include "common/watch/watch_token.h"

namespace basalt::jobsvc {

class JobWatch final : public rpc::Feed<job::v1::WatchJobsResponse> {
 public:
  using Part = rpc::Feed<job::v1::WatchPartResponse>;
  // A part at that member, or here. `notify` comes on any thread.
  using OpenPart = std::function<std::unique_ptr<Part>(
      const gateway::v1::Member& member, job::v1::WatchPartRequest request, std::function<void()> notify)>;

  static constexpr absl::Duration kTokenInterval = absl::Seconds(1);
  static constexpr absl::Duration kRetry = absl::Milliseconds(200);
  static constexpr absl::Duration kPatience = absl::Seconds(30);  // Without an owner that answers.

  // Loop and members outlive it.
  JobWatch(Loop& loop, const rpc::Members& members, OpenPart open, const job::v1::WatchJobsRequest& request,
           std::function<void()> notify);
  ~JobWatch() override;

  bool Take(job::v1::WatchJobsResponse* response) override;
  std::optional<absl::Status> End() override { return end_; }
  // Every kRetry.
  void Tick() override;

 private:
  struct OpenedPart {
    gateway::v1::Member member;
    SlotSet slots;  // That it still tells of.
    std::unique_ptr<Part> feed;
  };
  using Parts = std::list<OpenedPart>;

  void Attach();
  void FollowAssignment();
  // True: `response` is for the client.
  bool TakeFrom(OpenedPart& part, job::v1::WatchPartResponse& told, job::v1::WatchJobsResponse* response);
  void Detach(OpenedPart& part, const std::vector<uint32_t>& slots, std::string_view why);
  void SetPosition(const OpenedPart& part, const watch::v1::SlotPosition& position);
  void AddToken(job::v1::WatchJobsResponse* response);

  Loop& loop_;
  const rpc::Members& members_;
  const OpenPart open_;
  const std::function<void()> notify_;
  const std::string ns_;
  const std::string name_;
  SlotSet wanted_;
  std::vector<watch::WatchPosition> positions_;  // By slot: what the client has been told.
  std::vector<gateway::v1::Member> assignment_;
  Parts parts_;
  Parts::iterator next_part_;
  SlotSet detached_;  // Wanted, and told of by no part.
  SlotSet unsynced_;  // Their snapshot is not complete.
  bool told_synced_ = false;
  std::vector<absl::Time> failing_since_;  // By slot.
  absl::Time last_attempt_ = absl::InfinitePast();
  absl::Time last_token_ = absl::InfinitePast();
  bool token_due_ = false;  // Positions have changed since the last one.
  std::optional<absl::Status> end_;
};

}  // namespace basalt::jobsvc
