#pragma once

// Changes of objects that have no end, on standard output until the user ends it: a line each, or a document. Blocking;
// for one thread.
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/connect/client.h"
#include "cli/follow/followed_objects.h"
#include "cli/follow/watch_loop.h"
#include "cli/view/output.h"
#include "cli/view/table.h"
#include "common/base/excerpt.h"
#include "common/base/status.h"

namespace basalt::cli {

// `Watched`: see cli/connect/watched.h.
template <typename Watched>
class ChangePrinter final : public WatchLoop<Watched>::Reader {
 public:
  using Response = typename Watched::Response;
  // A line for people.
  using Line = std::function<std::string(const typename Watched::Object& object)>;

  // `output`: json or yaml, or empty for people. `must_exist`: it has enough where there is nothing.
  ChangePrinter(std::string output, bool must_exist, Line line)
      : output_(std::move(output)), must_exist_(must_exist), line_(std::move(line)) {}

  bool Take(Response&& told) override {
    for (const Response& gone : told_.Take(told)) ShowGone(gone);
    if (told.type() == Response::TYPE_STATE) Show(told);
    return told.type() == Response::TYPE_SYNCED && std::exchange(must_exist_, false) && told_.empty();
  }
  bool Look(absl::Time) override { return false; }
  absl::Time due() const override { return absl::InfiniteFuture(); }
  void Interrupted(const absl::Status& why, bool first) override {
    told_.Interrupted();
    if (!first) return;
    std::fprintf(stderr, "%s\n",
                 Printable(fmt::format("no {} answers ({}): looking for it …", Watched::kService, ToStd(why.message())))
                     .c_str());
  }
  const std::string& token() const override { return told_.token(); }

 private:
  void Show(const Response& told) {
    if (!output_.empty()) return Print(FormatDocument(told, output_));
    std::string line = line_(Watched::ObjectOf(told));
    std::string& last = lines_[KeyOf(Watched::ObjectOf(told))];
    // A change may leave the line as it was.
    if (line != last) Print(last = std::move(line));
  }
  void ShowGone(const Response& gone) {
    if (!output_.empty()) return Print(FormatDocument(gone, output_));
    const std::string key = KeyOf(Watched::ObjectOf(gone));
    // Of one without a line people know nothing; of one whose end was told, they know.
    if (lines_.erase(key) > 0) Print(fmt::format("{}  deleted\n", Printable(key)));
  }

  const std::string output_;
  bool must_exist_;  // Until it is known whether it is there.
  const Line line_;
  FollowedObjects<Watched> told_;
  std::map<std::string, std::string> lines_;  // The last of each object that is not gone, by key.
};

// NOT_FOUND: the request names an object, `what`, and there is none to begin with. Else as the stream has ended; where
// a replica goes away it is said on stderr, and another is asked.
template <typename Watched>
absl::Status WatchChanges(Client<typename Watched::Service>& client, const typename Watched::Request& request,
                          std::string_view what, const std::string& output,
                          typename ChangePrinter<Watched>::Line line) {
  ChangePrinter<Watched> printer(output, /*must_exist=*/!request.name().empty(), std::move(line));
  absl::Status ended = WatchLoop<Watched>(client, request, absl::InfiniteFuture(), printer).Run();
  if (!ended.ok()) return ended;
  return MakeStatus(absl::StatusCode::kNotFound, fmt::format("{} does not exist", what));
}

}  // namespace basalt::cli
