#pragma once

// Watches. Every watch is a cursor in its resource's log of changes. After a change, one shared task per resource moves
// the cursors on. A watch whose cursor has been forgotten ends with a 410 event. A watch whose peer does not read is
// ended. Confined to the server's loop.
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/http/http.h"
#include "kubesim/server/request/request_info.h"
#include "kubesim/server/request/selectors.h"
#include "kubesim/server/state/core.h"

namespace basalt::kubesim {

class WatchHub {
 public:
  explicit WatchHub(Core& core);
  ~WatchHub();

  // Begins a watch, which keeps the writer, or returns a refusal. A resourceVersion that is too old is answered by a
  // 410 event.
  absl::Status Start(const RequestInfo& info, std::shared_ptr<http::ResponseWriter> writer,
                     const http::Headers& headers);

  // Delivers all changes at once. Must be called before the log is compacted.
  void PumpAll();
  // Breaks the connections of all watches of `resource`, or of all watches if it is empty.
  void DropAll(std::string_view resource);
  // Stalls a resource, or all if `resource` is empty: nothing is delivered, bookmarks included, until Release().
  void Stall(std::string_view resource);
  void Release(std::string_view resource);
  size_t size() const;

 private:
  struct Watch;
  using WatchList = std::list<std::shared_ptr<Watch>>;
  struct Channel {
    WatchList watches;
    bool scheduled = false;
    size_t undelivered = 0;  // Number of changes since the last Pump().
  };

  void Schedule(const std::string& resource, Channel& channel);
  void Pump(const std::string& resource, Channel& channel);
  // Sends the changes to one watch. Returns false if the watch has ended.
  bool Deliver(const std::string& resource, Watch& watch);
  bool DeliverInitial(Watch& watch, std::string& out);
  void AppendChange(Watch& watch, const Change& change, std::string& out);
  void Bookmark(Watch& watch, std::string& out);
  void OnDeadline(const std::string& resource, const std::shared_ptr<Watch>& watch);
  void ArmBookmarks();
  void SendBookmarks();
  bool Stalled(const std::string& resource) const;

  Core& core_;
  std::map<std::string, Channel> channels_;
  std::map<std::string, bool> stalled_;
  bool bookmarks_armed_ = false;
};

}  // namespace basalt::kubesim
