#include "common/exec/run_on.h"

#include "common/base/mutex.h"

namespace basalt {

void RunOn(Loop& loop, absl::FunctionRef<void()> work) {
  Mutex mutex;
  CondVar condition;
  bool done = false;
  loop.Post([&] {
    work();
    MutexLock lock(mutex);
    done = true;
    condition.NotifyAll();
  });
  MutexLock lock(mutex);
  while (!done) condition.Wait(mutex);
}

}  // namespace basalt
