#pragma once

// Writes structured logs: a constant message with values as fields, one JSON object per line on stderr. Thread-safe;
// does not block.
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace basalt::obs {

enum class Level { kDebug, kInfo, kWarning, kError, kNothing };

using Field = std::pair<std::string_view, std::string>;

void Log(Level level, std::string_view message, std::initializer_list<Field> fields = {});

inline void LogDebug(std::string_view message, std::initializer_list<Field> fields = {}) {
  Log(Level::kDebug, message, fields);
}
inline void LogInfo(std::string_view message, std::initializer_list<Field> fields = {}) {
  Log(Level::kInfo, message, fields);
}
inline void LogWarning(std::string_view message, std::initializer_list<Field> fields = {}) {
  Log(Level::kWarning, message, fields);
}
inline void LogError(std::string_view message, std::initializer_list<Field> fields = {}) {
  Log(Level::kError, message, fields);
}

// Writes a line of the audit log. The audit log is part of the log, and is written at every log level.
void LogAudit(std::initializer_list<Field> fields);

// Suppresses messages below `least`; kNothing silences all. Any thread.
void SetLogLevel(Level least);

// Sets up the log of the process, once at its start. `process` goes into every line.
void SetUpLogging(std::string_view process, Level least);

}  // namespace basalt::obs
