#pragma once

// Records Events about the objects of a controller: sends the requests that ObjectEvents returns. The owner of an
// object keeps its ObjectEvents beside the object, so that both go together.
//
// Confined to the worker's loop. Best effort: an Event that cannot be written is not logged and holds up nothing.
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
  // The least time between two patches of one Event (correctness 3).
  static constexpr absl::Duration kInterval = absl::Minutes(5);

  // Returns the Events of the object that has that key and UID. Null if the object is gone; the outcome is dropped
  // then.
  using FindEvents = std::function<ObjectEvents*(const std::string& key, const std::string& uid)>;

  // `context` and the objects that `find` refers to outlive the recorder.
  EventRecorder(Context& context, FindEvents find, absl::Duration interval = kInterval)
      : context_(context), find_(std::move(find)), interval_(interval) {}

  // `events` are those of the object that `event` is about; `key` is its key. Returns true if the record begins a
  // series. May be repeated: further records are counted.
  bool Record(const std::string& key, ObjectEvents& events, kube::Event event);

 private:
  void Send(const std::string& key, kube::Event event, EventRequest request);

  Context& context_;
  const FindEvents find_;
  const absl::Duration interval_;
};

}  // namespace basalt::runtime
