#pragma once

// Plugin arguments in the syntax of Go's flag package (job spec 11.1): -x=v, --x=v, --x v; a boolean may stand alone.
// "--" ends them. Other than Go, a word that cannot be used loses itself alone: the words behind it still count.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "google/protobuf/repeated_ptr_field.h"

namespace basalt::jobsvc {

using PluginArguments = google::protobuf::RepeatedPtrField<std::string>;

// A flag as people read of it.
struct FlagDescription {
  std::string name;
  std::string default_value;
  std::string text;  // What the flag says, without a full stop.
};

class Arguments {
 public:
  // `target` holds the default and outlives the last call of Parse and Describe; `text` is of static storage.
  void Flag(std::string_view name, std::string* target, std::string_view text) {
    flags_.push_back({name, target, text});
  }
  void Flag(std::string_view name, bool* target, std::string_view text) { flags_.push_back({name, target, text}); }
  void Flag(std::string_view name, int64_t* target, std::string_view text, int64_t low, int64_t high) {
    flags_.push_back({name, target, text, low, high});
  }
  // A number from 1 to 65535.
  void Port(std::string_view name, int64_t* target, std::string_view text);

  // What could not be used, as words for the job's user, "; " between them; empty where everything was understood. A
  // flag that could not be used keeps its default, as in Go. Never fails otherwise.
  std::string Parse(const PluginArguments& words) const;

  // In the order of definition, with what the targets hold now.
  std::vector<FlagDescription> Describe() const;

 private:
  struct Definition {
    std::string_view name;
    std::variant<std::string*, bool*, int64_t*> target;
    std::string_view text;
    int64_t low = 0;  // Of a number: the values that it may have.
    int64_t high = 0;
  };
  const Definition* FindFlag(std::string_view name) const;
  // Reads the word at `at`, and the next one where that is its value; empty: understood.
  std::string ParseAt(const PluginArguments& words, int& at) const;

  std::vector<Definition> flags_;
};

}  // namespace basalt::jobsvc
