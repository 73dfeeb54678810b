#pragma once

// Plugin arguments in the syntax of Go's flag package (job spec 11.1): -x=v, --x=v, --x v; a boolean may stand alone.
// "--" ends them. Unlike in Go, an argument that cannot be used is skipped alone: the ones behind it still count.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "google/protobuf/repeated_ptr_field.h"

namespace basalt::jobsvc {

using PluginArguments = google::protobuf::RepeatedPtrField<std::string>;

// A flag, described for people.
struct FlagDescription {
  std::string name;
  std::string default_value;
  std::string text;  // Purpose of the flag, without a full stop.
};

class Arguments {
 public:
  // `target` holds the default and must outlive the last call of Parse and Describe; `text` has static storage.
  void Flag(std::string_view name, std::string* target, std::string_view text) {
    flags_.push_back({name, target, text});
  }
  void Flag(std::string_view name, bool* target, std::string_view text) { flags_.push_back({name, target, text}); }
  void Flag(std::string_view name, int64_t* target, std::string_view text, int64_t low, int64_t high) {
    flags_.push_back({name, target, text, low, high});
  }
  // Adds a number from 1 to 65535.
  void Port(std::string_view name, int64_t* target, std::string_view text);

  // Returns the arguments that could not be used, as a message for the job's user, joined by "; ". Empty if all of them
  // were understood. A flag that could not be used keeps its default, as in Go. Never fails otherwise.
  std::string Parse(const PluginArguments& words) const;

  // In the order of definition, with the present values of the targets.
  std::vector<FlagDescription> Describe() const;

 private:
  struct Definition {
    std::string_view name;
    std::variant<std::string*, bool*, int64_t*> target;
    std::string_view text;
    int64_t low = 0;   // Smallest valid number.
    int64_t high = 0;  // Largest valid number.
  };
  const Definition* FindFlag(std::string_view name) const;
  // Reads the argument at `at`, and the next one if that is its value. Empty if it was understood.
  std::string ParseAt(const PluginArguments& words, int& at) const;

  std::vector<Definition> flags_;
};

}  // namespace basalt::jobsvc
