#pragma once

// Records Events about the objects of a controller: sends what ObjectEvents says comes next. Whoever has the object has
// its ObjectEvents beside it, so that what is remembered of its Events goes with it.
//
// Confined to the worker's loop. Best effort: an Event that cannot be written is logged nowhere and holds up nothing.
#include <functional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/kube/event.h"
#include "common/runtime/controller.h"
#include "common/runtime/events/object_events.h"

namespace basalt::runtime {

class EventRecorder {
 public:
  // Between two patches of one Event (correctness 3).
  static constexpr absl::Duration kInterval = absl::Minutes(5);

  // The Events of the object of that UID, which has that key; null: it is gone, and what was asked about its Events is
  // of no interest any more.
  using FindEvents = std::function<ObjectEvents*(const std::string& key, const std::string& uid)>;

  // `context` and what `find` refers to outlive the recorder.
  EventRecorder(Context& context, FindEvents find, absl::Duration interval = kInterval)
      : context_(context), find_(std::move(find)), interval_(interval) {}

  // `events`: those of the object that `event` is about; `key`: its key. True: a series begins with it.
  bool Record(const std::string& key, ObjectEvents& events, kube::Event event);

 private:
  void Send(const std::string& key, kube::Event event, EventRequest request);

  Context& context_;
  const FindEvents find_;
  const absl::Duration interval_;
};

}  // namespace basalt::runtime
