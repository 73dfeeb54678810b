#include "common/obs/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>

#include "common/base/json.h"

namespace basalt::obs {
namespace {

// Is set once, before threads start, and read by all.
std::shared_ptr<spdlog::logger>& Logger() {
  static std::shared_ptr<spdlog::logger> logger;
  return logger;
}
std::string& Process() {
  static std::string process = "basalt";
  return process;
}
std::atomic<int>& Least() {
  static std::atomic<int> least{static_cast<int>(Level::kWarning)};
  return least;
}

std::string_view Name(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarning:
      return "warning";
    case Level::kError:
    case Level::kNothing:
      break;
  }
  return "error";
}

void Write(std::string_view level, std::string_view message, std::initializer_list<Field> fields) {
  json::object line;
  line["level"] = json::string(level.data(), level.size());
  line["process"] = Process();
  line["message"] = json::string(message);
  for (const Field& field : fields) line[json::string_view(field.first.data(), field.first.size())] = field.second;
  std::string text = json::serialize(line);
  text = text.substr(1, text.size() - 2);
  if (Logger() != nullptr) {
    Logger()->info("{}", text);
  } else {
    std::fprintf(stderr, "{%s}\n", text.c_str());
  }
}

}  // namespace

void SetLogLevel(Level least) { Least() = static_cast<int>(least); }

void SetUpLogging(std::string_view process, Level least) {
  Process() = process;
  Least() = static_cast<int>(least);
  Logger() = spdlog::stderr_logger_mt("basalt");
  Logger()->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ",%v})", spdlog::pattern_time_type::utc);
  Logger()->flush_on(spdlog::level::warn);
}

void Log(Level level, std::string_view message, std::initializer_list<Field> fields) {
  if (static_cast<int>(level) < Least().load(std::memory_order_relaxed)) return;
  Write(Name(level), message, fields);
}

void LogAudit(std::initializer_list<Field> fields) { Write("audit", "change", fields); }

}  // namespace basalt::obs
