#pragma once

// The workers of handlers under test: controllers whose passes, reads and writes the test runs. One thread.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "common/base/slots.h"
#include "common/runtime/testing/scripted_context.h"
#include "services/pgsvc/api/pod_group_api.h"

namespace basalt::pgsvc::testing {

class MaybeReady final : public runtime::testing::ScriptedContext {
 public:
  bool IsReady(uint32_t) const override { return ready; }
  bool ready = true;
};

struct Worker {
  Worker() { Open(); }
  void Open() {
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) EXPECT_TRUE(controller->OpenSlot(slot).ok());
  }
  MaybeReady context;
  std::unique_ptr<PodGroupController> controller = std::make_unique<PodGroupController>(context, GroupingOptions());
};

class TwoWorkers final : public Workers {
 public:
  size_t count() const override { return 2; }
  void OnWorkerOf(uint32_t slot, Task task) override { OnWorker(slot % 2, std::move(task)); }
  void OnWorker(size_t worker, Task task) override { task(*workers[worker].controller); }
  Worker& WorkerOf(const std::string& key) { return workers[SlotOf(key) % 2]; }

  Worker workers[2];
};

}  // namespace basalt::pgsvc::testing
