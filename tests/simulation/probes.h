#pragma once

// Counts how often a run reached the rare situations for which a fault schedule exists. If no seed reaches a probe, the
// schedule has become blind for that situation.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace basalt::simulation {

// One seed of a hundred or two must reach each of these.
inline constexpr std::string_view kWantedProbes[] = {
    "kill",
    "kill at a write",
    "lost disk",
    "lost disk with a kill under way",
    "loss of power",
    "stale record",
    "uncertain absence",
    "lost answer",
    "lost request",
    "repeated message",
    "unknown outcome settled by Get",
    "409 on status",
    "409 on a pod's creation",
    "410 on a watch",
    "stalled watch",
    "restart behind a stalled watch",
    "stream broken while pods are made",
    "partition",
    "pod deleted by a user",
    "failed pod deleted while jobsvc was down",
    "queue missing at first",
    "full kill",
    "pods deleted in one call",
    "finished pod kept by a deletion in one call",
    "owner killed while pods were deleted in one call",
    "several replicas",
    "several gateways",
    "lead changed",
    "clock skew",
    "clock of a node off",
    "pod preempted",
    "pod evicted by its kubelet",
    "pod failed by an eviction",
    "replica joined",
    "replica left",
    "replica paused",
    "gateway paused",
    "leader paused over its Lease",
    "gateway cut off from the API server",
    "partition between replicas",
    "disk lost while its slots move",
    "lost the source of a hand-over",
    "slot moved by join",
    "slot moved by leave",
    "slot moved by crash",
    "slot moved from a paused owner",
    "paused owner continued after its slots moved",
    "disk came back after its slots had moved",
    "write refused by the fence",
    "slot went on without its records",
    "deadline carried out",
    "deadline cancelled",
    "deadline kept in the status",
    "deadline of a pending pod",
    "deadline of a failed pod",
    "deadline of an evicted pod",
    "deadline of a task",
    "disk lost after an action",
    "disk of before an action came back",
    "command with a target",
    "command for an older job",
    "died between a command and its deletion",
    "scaled",
    "scaled to zero",
    "scaled while a pod had failed",
    "scaled back while surplus pods went",
    "job made anew",
    "job made anew: its pods' names were held",
    "job made anew: pods were being killed",
    "job made anew: pods were being deleted in one call",
    "job made anew: a deadline was pending",
    "job made anew: it had been retried",
    "owner killed while a job was made anew",
    "disk lost while a job was made anew",
    "slots moved while a job was made anew",
    "command for a job made anew since",
    "replica shut down",
    "replica gave its slots away",
    "replica shut down with nobody to give its slots to",
    "replica killed while it gave its slots away",
    "replica shut down though others had not taken its slots",
    "replica shut down while its slots moved",
    "replica shut down in a hand-over",
    "replica shut down in quiet",
    "slot moved by shutdown",
    "disk lost after a shutdown",
    "gateway shut down",
    "gateway shut down with writes under way",
    "gateway drained with writes under way",
    "gateway gave its lead back",
    "gateway ended without giving its lead back",
    "gateway killed before it had given its lead back",
    "killed at the end of its time to shut down",
    "all replicas of a service shut down",
    "whole suite shut down",
    "Deployment made",
    "ReplicaSet made",
    "StatefulSet made",
    "ordered StatefulSet made",
    "batch Job made",
    "group of a workload made",
    "group of a workload updated",
    "group of a workload deleted",
    "group of a workload written by another replica than before",
    "group deleted by a user",
    "link to a group removed by a user",
    "workload deleted",
    "workload for KAI",
    "group of KAI's made",
    "rich group made",
    "rich group updated",
    "rich group deleted",
    "rich group written by another replica than before",
    "group of KAI's updated",
    "group of KAI's written by another replica than before",
    "workload rolled",
    "workload scaled to zero",
    "command for a queue",
    "pod group moved to another queue",
    "state of a queue edited by hand",
    "queue moved below another",
    "queue made anew",
};

class Probes {
 public:
  void Hit(std::string_view name, uint64_t times = 1) {
    if (times == 0) return;
    const auto found = counts_.find(name);
    if (found != counts_.end()) {
      found->second += times;
    } else {
      counts_.emplace(name, times);
    }
  }
  void Add(const Probes& other) {
    for (const auto& [name, count] : other.counts_) Hit(name, count);
  }
  uint64_t Count(std::string_view name) const {
    const auto found = counts_.find(name);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  std::map<std::string, uint64_t, std::less<>> counts_;
};

}  // namespace basalt::simulation
