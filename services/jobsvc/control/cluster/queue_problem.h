#pragma once

// Reports to users that a job waits for its queue. Runs on the controller's loop.

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

// A stored job is not refused because of its queue: it waits. That is reported unless the queue will be created or
// opened without the user.
void ReportQueue(JobEntry& entry, PartHost& host);

}  // namespace basalt::jobsvc
