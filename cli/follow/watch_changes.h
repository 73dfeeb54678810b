#pragma once

// Prints changes of objects on standard output until the user ends the program: a line each, or a document. Unlike jobs
// (follow.h), these objects reach no end. Blocking; for one thread.
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

// For `Watched` see cli/connect/watched.h.
template <typename Watched>
class ChangePrinter final : public WatchLoop<Watched>::Reader {
 public:
  using Response = typename Watched::Response;
  // Returns the line of an object for people.
  using Line = std::function<std::string(const typename Watched::Object& object)>;

  // `output` is "json", "yaml", or empty for people. With `must_exist`, the watch ends if there is no object to begin
  // with.
  ChangePrinter(std::string output, bool must_exist, Line line)
      : output_(std::move(output)), must_exist_(must_exist), line_(std::move(line)) {}

  bool Take(Response&& response) override {
    for (const Response& gone : followed_.Take(response)) ShowGone(gone);
    if (response.type() == Response::TYPE_STATE) Show(response);
    return response.type() == Response::TYPE_SYNCED && std::exchange(must_exist_, false) && followed_.empty();
  }
  bool Look(absl::Time) override { return false; }
  absl::Time due() const override { return absl::InfiniteFuture(); }
  void Interrupted(const absl::Status& why, bool first) override {
    followed_.Interrupted();
    if (!first) return;
    std::fprintf(stderr, "%s\n",
                 Printable(fmt::format("no {} answers ({}): looking for it …", Watched::kService, ToStd(why.message())))
                     .c_str());
  }
  const std::string& token() const override { return followed_.token(); }

 private:
  void Show(const Response& response) {
    if (!output_.empty()) return Print(FormatDocument(response, output_));
    std::string line = line_(Watched::ObjectOf(response));
    std::string& last = lines_[KeyOf(Watched::ObjectOf(response))];
    // A change of the object may leave its line unchanged.
    if (line != last) Print(last = std::move(line));
  }
  void ShowGone(const Response& gone) {
    if (!output_.empty()) return Print(FormatDocument(gone, output_));
    const std::string key = KeyOf(Watched::ObjectOf(gone));
    // A deletion is printed once, and only of an object of which a line was printed.
    if (lines_.erase(key) > 0) Print(fmt::format("{}  deleted\n", Printable(key)));
  }

  const std::string output_;
  bool must_exist_;  // False after the first SYNCED.
  const Line line_;
  FollowedObjects<Watched> followed_;
  std::map<std::string, std::string> lines_;  // The last line of each object that is not gone, by key.
};

// Prints changes until the stream ends, and returns its status. NOT_FOUND if the request names an object, called `what`
// in the message, that does not exist to begin with. If a replica goes away, a line on stderr says so, and another
// replica is asked.
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
