#include "kubesim/server/read/watch.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/http/target.h"
#include "kubesim/server/request/errors.h"

namespace basalt::kubesim {
namespace {

constexpr size_t kFlushBytes = 256 << 10;
constexpr size_t kPumpInline = 2'000;  // After so many changes within one task, watches are served at once.
constexpr size_t kInitialBacklog = 8 << 20;

}  // namespace

struct WatchHub::Watch {
  TypeInfoPtr type;
  std::string ns;
  Selector selector;
  Representation how;
  std::shared_ptr<http::ResponseWriter> writer;
  int64_t cursor = 0;
  bool bookmarks = false;
  bool first_table = true;
  bool ended = false;
  // The state of `cursor`, which is sent first.
  std::vector<RevisionPtr> initial;
  size_t initial_sent = 0;
  bool announce_initial_end = false;
  TimerId deadline = kNoTimer;
};

WatchHub::WatchHub(Core& core) : core_(core) {
  core_.store.AddListener([this](const std::string& resource, const Change&) {
    const auto found = channels_.find(resource);
    if (found == channels_.end() || found->second.watches.empty()) return;
    Schedule(resource, found->second);
    // If one task makes very many changes, the log might drop changes before watches have got them.
    if (++found->second.undelivered >= kPumpInline) Pump(resource, found->second);
  });
}

WatchHub::~WatchHub() = default;

namespace {

struct StartPoint {
  bool with_state = false;
  bool announce_end = false;
  int64_t version = 0;
  absl::Status refusal;  // Sent as the only event.
};

absl::StatusOr<StartPoint> ReadStart(const RequestInfo& info, int64_t current) {
  const http::Target& target = info.target;
  const std::string_view match = target.Query("resourceVersionMatch");
  const auto forbidden = [&](std::string_view field, std::string_view why) {
    return Invalid({.group = "meta.k8s.io", .kind = "ListOptions"}, "",
                   {{"FieldValueForbidden", std::string(field), fmt::format("Forbidden: {}", why)}});
  };
  int64_t version = 0;
  if (const absl::Status read = ReadVersion(target.Query("resourceVersion"), &version); !read.ok()) {
    return MakeApiError({.code = 500, .message = std::string(ToStd(read.message()))});
  }
  StartPoint start;
  start.version = current;
  // A watch without a resourceVersion is a streaming list, too, although the client does not request it.
  const bool asked = target.HasQuery("sendInitialEvents");
  if (asked || (version == 0 && match.empty())) {
    if (!target.Query("continue").empty()) {
      return forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
    }
    if (asked && match != "NotOlderThan") {
      std::vector<FieldError> causes = {
          {"FieldValueForbidden", "resourceVersionMatch",
           "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"}};
      if (!match.empty()) {
        causes.push_back({"FieldValueNotSupported", "resourceVersionMatch",
                          fmt::format("Unsupported value: \"{}\": supported values: \"NotOlderThan\"", match)});
      }
      return Invalid({.group = "meta.k8s.io", .kind = "ListOptions"}, "", std::move(causes));
    }
    start.with_state = !asked || QueryBool(target, "sendInitialEvents");
    if (version > current && start.with_state) start.refusal = TooLargeResourceVersion(version, current);
    start.announce_end = start.with_state && QueryBool(target, "allowWatchBookmarks");
    return start;
  }
  if (!match.empty()) {
    return forbidden("resourceVersionMatch",
                     "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  }
  start.version = version;
  return start;
}

}  // namespace

absl::Status WatchHub::Start(const RequestInfo& info, std::shared_ptr<http::ResponseWriter> writer,
                             const http::Headers& headers) {
  auto watch = std::make_shared<Watch>();
  watch->type = info.type;
  watch->ns = info.ns;
  watch->how = info.representation;
  BASALT_ASSIGN_OR_RETURN(watch->selector, SelectorOf(info));
  if (!info.name.empty()) watch->selector.fields.RequireName(info.name);
  BASALT_ASSIGN_OR_RETURN(const StartPoint start, ReadStart(info, core_.store.version()));
  BASALT_ASSIGN_OR_RETURN(const int64_t seconds, QueryInt(info.target, "timeoutSeconds", 0));
  const std::string resource = info.type->Resource();
  watch->bookmarks = QueryBool(info.target, "allowWatchBookmarks");
  watch->announce_initial_end = start.announce_end;
  watch->cursor = start.version;
  watch->writer = std::move(writer);
  if (start.with_state) {
    core_.store.Visit(resource, watch->ns, nullptr, [&](const ObjectKey&, const RevisionPtr& revision) {
      if (watch->selector.Matches(revision->object())) watch->initial.push_back(revision);
      return true;
    });
  }
  watch->writer->Head(200, headers);
  if (!start.refusal.ok() || seconds < 0) {
    std::string out;
    if (!start.refusal.ok()) AppendErrorEvent(out, StatusObject(start.refusal));
    if (!out.empty()) watch->writer->Chunk(out);
    watch->writer->End();
    return absl::OkStatus();
  }
  absl::Duration timeout = absl::Seconds(seconds);
  if (seconds == 0) timeout = core_.options.min_watch_timeout * (1.0 + core_.random.Unit());
  Channel& channel = channels_[resource];
  watch->deadline = core_.tasks.RunAfter(timeout, [this, resource, weak = std::weak_ptr<Watch>(watch)] {
    if (const auto locked = weak.lock()) OnDeadline(resource, locked);
  });
  watch->writer->OnClose([this, resource, weak = std::weak_ptr<Watch>(watch)] {
    if (const auto locked = weak.lock()) {
      locked->ended = true;
      core_.tasks.Cancel(locked->deadline);
      channels_[resource].watches.remove(locked);
    }
  });
  channel.watches.push_back(watch);
  Schedule(resource, channel);
  if (watch->bookmarks) ArmBookmarks();
  return absl::OkStatus();
}

void WatchHub::Schedule(const std::string& resource, Channel& channel) {
  if (channel.scheduled) return;
  channel.scheduled = true;
  core_.tasks.Post([this, resource] {
    Channel& due = channels_[resource];
    due.scheduled = false;
    Pump(resource, due);
  });
}

void WatchHub::Pump(const std::string& resource, Channel& channel) {
  channel.undelivered = 0;
  if (Stalled(resource)) return;
  const WatchList watches = channel.watches;  // A copy: writing may close a connection, which removes its watch.
  for (const std::shared_ptr<Watch>& watch : watches) {
    if (watch->ended || Deliver(resource, *watch)) continue;
    watch->ended = true;
    core_.tasks.Cancel(watch->deadline);
    channel.watches.remove(watch);
  }
}

bool WatchHub::Deliver(const std::string& resource, Watch& watch) {
  if (watch.writer->closed()) return false;
  std::string out;
  const auto flush = [&] {
    if (!out.empty()) watch.writer->Chunk(out);
    out.clear();
  };
  if (!DeliverInitial(watch, out)) {
    // The peer is still reading the initial state. Continue when it has caught up.
    core_.tasks.RunAfter(absl::Milliseconds(20), [this, resource] { Schedule(resource, channels_[resource]); });
    return true;
  }
  if (watch.cursor < core_.store.Floor(resource)) {
    AppendErrorEvent(out, StatusObject(Expired(fmt::format("too old resource version: {} ({})", watch.cursor,
                                                           core_.store.Floor(resource)))));
    flush();
    watch.ended = true;
    watch.writer->End();
    return false;
  }
  while (const Change* change = core_.store.Next(resource, watch.cursor)) {
    AppendChange(watch, *change, out);
    watch.cursor = change->version;
    if (out.size() >= kFlushBytes) flush();
  }
  flush();
  if (watch.writer->buffered() > core_.options.slow_watcher_bytes) {
    watch.ended = true;
    watch.writer->End();
    return false;
  }
  return true;
}

bool WatchHub::DeliverInitial(Watch& watch, std::string& out) {
  const absl::Time now = core_.Now();
  while (watch.initial_sent < watch.initial.size()) {
    if (out.size() >= kFlushBytes) {
      watch.writer->Chunk(out);
      out.clear();
      if (watch.writer->buffered() > kInitialBacklog) return false;
    }
    AppendEvent(out, "ADDED", *watch.type, watch.initial[watch.initial_sent++], watch.how, watch.first_table, now);
    watch.first_table = false;
  }
  watch.initial = {};
  watch.initial_sent = 0;
  if (watch.announce_initial_end) {
    AppendBookmark(out, *watch.type, watch.cursor, /*initial_end=*/true, watch.how);
    watch.announce_initial_end = false;
  }
  return true;
}

void WatchHub::AppendChange(Watch& watch, const Change& change, std::string& out) {
  if (!watch.ns.empty() && change.key.ns != watch.ns) return;
  const bool was = change.before != nullptr && watch.selector.Matches(change.before->object());
  const bool is = change.after != nullptr && watch.selector.Matches(change.after->object());
  if (!was && !is) return;
  // An object that no longer matches the selector is deleted for this watch, which gets the last state that matched.
  const std::string_view event = was && is ? "MODIFIED" : is ? "ADDED" : "DELETED";
  AppendEvent(out, event, *watch.type, is ? change.after : change.Tombstone(), watch.how, watch.first_table,
              core_.Now());
  watch.first_table = false;
}

void WatchHub::PumpAll() {
  for (auto& [resource, channel] : channels_) Pump(resource, channel);
}

void WatchHub::OnDeadline(const std::string& resource, const std::shared_ptr<Watch>& watch) {
  if (watch->ended) return;
  if (!Stalled(resource) && Deliver(resource, *watch)) {
    std::string out;
    Bookmark(*watch, out);
    if (!out.empty()) watch->writer->Chunk(out);
  }
  if (!watch->ended) watch->writer->End();
  watch->ended = true;
  channels_[resource].watches.remove(watch);
}

void WatchHub::Bookmark(Watch& watch, std::string& out) {
  if (!watch.bookmarks || !watch.initial.empty() || watch.cursor > core_.store.version()) return;
  // This resource has no change between the cursor and the present version.
  watch.cursor = core_.store.version();
  AppendBookmark(out, *watch.type, watch.cursor, /*initial_end=*/false, watch.how);
}

void WatchHub::ArmBookmarks() {
  if (bookmarks_armed_) return;
  bookmarks_armed_ = true;
  core_.tasks.RunAfter(core_.options.bookmark_interval, [this] {
    bookmarks_armed_ = false;
    SendBookmarks();
  });
}

void WatchHub::SendBookmarks() {
  bool any = false;
  for (auto& [resource, channel] : channels_) {
    if (channel.watches.empty()) continue;
    Pump(resource, channel);
    for (const std::shared_ptr<Watch>& watch : WatchList(channel.watches)) {
      any = any || watch->bookmarks;
      if (Stalled(resource) || watch->ended) continue;
      std::string out;
      Bookmark(*watch, out);
      if (!out.empty()) watch->writer->Chunk(out);
    }
  }
  if (any) ArmBookmarks();
}

void WatchHub::DropAll(std::string_view resource) {
  for (auto& [name, channel] : channels_) {
    if (!resource.empty() && name != resource) continue;
    for (const std::shared_ptr<Watch>& watch : std::exchange(channel.watches, {})) {
      watch->ended = true;
      core_.tasks.Cancel(watch->deadline);
      watch->writer.reset();  // The connection breaks, because End() was not called.
    }
  }
}

void WatchHub::Stall(std::string_view resource) { stalled_[std::string(resource)] = true; }

void WatchHub::Release(std::string_view resource) {
  if (resource.empty()) {
    stalled_.clear();
  } else {
    stalled_.erase(std::string(resource));
  }
  for (auto& [name, channel] : channels_) Schedule(name, channel);
}

bool WatchHub::Stalled(const std::string& resource) const {
  return stalled_.contains("") || stalled_.contains(resource);
}

size_t WatchHub::size() const {
  size_t count = 0;
  for (const auto& [name, channel] : channels_) count += channel.watches.size();
  return count;
}

}  // namespace basalt::kubesim
