#include "gateway/watches/watch_errors.h"

#include "common/obs/log.h"
#include "gateway/health/problem.h"

namespace basalt::gateway {

void CountWatchError(obs::Metrics& metrics, const std::string& watch, const std::string& reason) {
  metrics
      .GetCounter("basalt_gateway_watch_errors_total", "Lists and watches that failed.",
                  {{"watch", watch}, {"reason", reason}})
      .Add();
}

void ReportWatchError(obs::Metrics& metrics, const std::string& watch, const absl::Status& status) {
  const Problem problem = ProblemOf(status);
  CountWatchError(metrics, watch, problem.state);
  if (problem.OfConnection()) return;
  obs::LogWarning("watch failed, trying again", {{"watch", watch}, {"state", problem.state}, {"why", problem.why}});
}

}  // namespace basalt::gateway
