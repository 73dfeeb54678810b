#pragma once

// Objects without a slot: broadcast ones and those requested by Interest. Keeps the newest state of each, ordered like
// everything else; there are few. Used on the main loop of a replica.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::runtime {

struct SharedEvent {
  std::string watch;
  std::shared_ptr<const kube::v1::Object> object;  // The last state if `gone`.
  bool gone = false;
};

class SharedObjects {
 public:
  using Emit = std::function<void(SharedEvent)>;

  // A new stream begins, which sends everything again.
  void NewStream();
  void State(const gateway::v1::ObjectState& state, const Emit& emit);
  // A tombstone without a UID is the gateway's answer to an interest in an object that does not exist.
  void Tombstone(const gateway::v1::Tombstone& tombstone, const Emit& emit);
  // The gateway has sent all that the mark covers: an object that this stream has not mentioned is gone.
  void Mark(const gateway::v1::Mark& mark, const Emit& emit);
  void Forget(std::string_view watch, std::string_view ns, std::string_view name);
  std::shared_ptr<const kube::v1::Object> Find(std::string_view watch, std::string_view ns,
                                               std::string_view name) const;

 private:
  struct Entry {
    std::shared_ptr<const kube::v1::Object> object;
    bool mentioned = false;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Entry> entries_;  // (watch, namespace, name)
};

}  // namespace basalt::runtime
