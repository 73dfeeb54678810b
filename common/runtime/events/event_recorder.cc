#include "common/runtime/events/event_recorder.h"

#include <variant>

namespace basalt::runtime {

bool EventRecorder::Record(const std::string& key, ObjectEvents& events, kube::Event event) {
  EventRequest request = events.Record(event, context_.ApiNow(), interval_);
  const bool begins = std::holds_alternative<gateway::v1::WriteRequest>(request);
  Send(key, std::move(event), std::move(request));
  return begins;
}

void EventRecorder::Send(const std::string& key, kube::Event event, EventRequest request) {
  if (auto* const write = std::get_if<gateway::v1::WriteRequest>(&request)) {
    context_.Write(key, std::move(*write), [this, key, event = std::move(event)](const WriteOutcome& outcome) mutable {
      ObjectEvents* const events = find_(key, event.uid);
      if (events == nullptr) return;
      EventRequest next = events->OnWritten(event, outcome, context_.ApiNow());
      Send(key, std::move(event), std::move(next));
    });
  } else if (auto* const get = std::get_if<gateway::v1::GetRequest>(&request)) {
    context_.Get(key, std::move(*get),
                 [this, key, event = std::move(event)](const absl::StatusOr<gateway::v1::GetResponse>& answer) mutable {
                   ObjectEvents* const events = find_(key, event.uid);
                   if (events == nullptr) return;
                   EventRequest next = events->OnRead(event, answer, context_.ApiNow());
                   Send(key, std::move(event), std::move(next));
                 });
  }
}

}  // namespace basalt::runtime
