#include "common/http/fetch_and_wait.h"

#include <future>
#include <utility>

#include "common/exec/run_on.h"

namespace basalt::http {

absl::StatusOr<Response> FetchAndWait(Loop& loop, Client& client, Request request) {
  std::promise<absl::StatusOr<Response>> answer;
  std::unique_ptr<Call> call;
  RunOn(loop, [&] {
    call = Fetch(client, std::move(request),
                 [&](absl::StatusOr<Response> response) { answer.set_value(std::move(response)); });
  });
  absl::StatusOr<Response> response = answer.get_future().get();
  RunOn(loop, [&] { call.reset(); });
  return response;
}

}  // namespace basalt::http
