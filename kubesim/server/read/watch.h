#pragma once

// Watches: every watch is a cursor in its resource's log of changes, moved on by one shared task per resource after a
// change. Confined to the server's loop. A watch whose cursor has been forgotten ends with a 410 event; one whose peer
// does not read is ended.
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

  // Answers with a status, or takes the writer and streams. A resourceVersion that is too old is a 410 event.
  absl::Status Start(const RequestInfo& info, std::shared_ptr<http::ResponseWriter> writer,
                     const http::Headers& headers);

  // Delivers what is due now; before the log is compacted.
  void PumpAll();
  // Breaks the connections of all watches of `resource` (empty: all).
  void DropAll(std::string_view resource);
  // A stalled resource ("": all) delivers nothing, bookmarks included, until it is released.
  void Stall(std::string_view resource);
  void Release(std::string_view resource);
  size_t size() const;

 private:
  struct Watch;
  using WatchList = std::list<std::shared_ptr<Watch>>;
  struct Channel {
    WatchList watches;
    bool scheduled = false;
    size_t undelivered = 0;  // Changes since the last pump.
  };

  void Schedule(const std::string& resource, Channel& channel);
  void Pump(const std::string& resource, Channel& channel);
  // False when the watch has ended.
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
