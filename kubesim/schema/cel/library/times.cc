#include <fmt/format.h>

#include <charconv>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/schema/cel/library/functions.h"

namespace basalt::kubesim::cel {
namespace {

using Result = absl::StatusOr<Value>;

// "+02:00", "05:30" or the name of a zone; UTC where none is given.
absl::StatusOr<absl::TimeZone> ZoneOf(const Args& args) {
  if (args.size() < 2) return absl::UTCTimeZone();
  const auto* name = args[1].As<std::string>();
  if (name == nullptr) return NoSuchOverload();
  const size_t colon = name->find(':');
  if (colon == std::string::npos) {
    absl::TimeZone zone;
    if (name->empty() || *name == "UTC") return absl::UTCTimeZone();
    if (!absl::LoadTimeZone(*name, &zone)) return EvalError(fmt::format("unknown time zone {}", *name));
    return zone;
  }
  const bool negative = name->starts_with('-');
  const size_t from = negative || name->starts_with('+') ? 1 : 0;
  int hours = 0;
  int minutes = 0;
  const char* begin = name->data();
  const auto hour = std::from_chars(begin + from, begin + colon, hours);
  const auto minute = std::from_chars(begin + colon + 1, begin + name->size(), minutes);
  if (hour.ec != std::errc() || minute.ec != std::errc() || hours > 23 || minutes > 59 || hours < 0 || minutes < 0) {
    return EvalError(fmt::format("unknown time zone {}", *name));
  }
  return absl::FixedTimeZone((negative ? -1 : 1) * (hours * 3600 + minutes * 60));
}

template <typename Read>
Result OfTime(const Args& args, Read read) {
  const auto* time = args[0].As<Timestamp>();
  if (time == nullptr) return NoSuchOverload();
  BASALT_ASSIGN_OR_RETURN(const absl::TimeZone zone, ZoneOf(args));
  return Value::Int(read(zone.At(time->time)));
}

int64_t DayOfWeek(absl::CivilDay day) { return (static_cast<int64_t>(absl::GetWeekday(day)) + 1) % 7; }

// Getters that times and durations share: a part of the one, the whole of the other.
template <typename Read>
Result OfEither(const Args& args, int64_t nanos, Read read) {
  if (const auto* duration = args[0].As<Duration>()) return Value::Int(duration->nanos / nanos);
  return OfTime(args, read);
}

using Info = absl::TimeZone::CivilInfo;

}  // namespace

const std::vector<NamedFunction>& TimeFunctions() {
  static const auto& functions = *new std::vector<NamedFunction>({
      {"getFullYear",
       [](const Args& args, Budget&) { return OfTime(args, [](const Info& at) -> int64_t { return at.cs.year(); }); }},
      {"getMonth", [](const Args& args,
                      Budget&) { return OfTime(args, [](const Info& at) -> int64_t { return at.cs.month() - 1; }); }},
      {"getDate",
       [](const Args& args, Budget&) { return OfTime(args, [](const Info& at) -> int64_t { return at.cs.day(); }); }},
      {"getDayOfMonth",
       [](const Args& args, Budget&) {
         return OfTime(args, [](const Info& at) -> int64_t { return at.cs.day() - 1; });
       }},
      {"getDayOfYear",
       [](const Args& args, Budget&) {
         return OfTime(args, [](const Info& at) -> int64_t { return absl::GetYearDay(absl::CivilDay(at.cs)) - 1; });
       }},
      {"getDayOfWeek",
       [](const Args& args, Budget&) {
         return OfTime(args, [](const Info& at) { return DayOfWeek(absl::CivilDay(at.cs)); });
       }},
      {"getHours",
       [](const Args& args, Budget&) {
         return OfEither(args, 3600000000000, [](const Info& at) -> int64_t { return at.cs.hour(); });
       }},
      {"getMinutes",
       [](const Args& args, Budget&) {
         return OfEither(args, 60000000000, [](const Info& at) -> int64_t { return at.cs.minute(); });
       }},
      {"getSeconds",
       [](const Args& args, Budget&) {
         return OfEither(args, 1000000000, [](const Info& at) -> int64_t { return at.cs.second(); });
       }},
      {"getMilliseconds",
       [](const Args& args, Budget&) {
         return OfEither(args, 1000000,
                         [](const Info& at) -> int64_t { return absl::ToInt64Milliseconds(at.subsecond); });
       }},
  });
  return functions;
}

}  // namespace basalt::kubesim::cel
