#pragma once

// Plugin arguments in the syntax of Go's flag package (job spec 11.1): -x=v, --x=v, --x v; a boolean may stand alone.
// Parsing stops at the first error, at "--" or at the first word that is no flag; what was read before stays.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "google/protobuf/repeated_ptr_field.h"

namespace basalt::jobsvc {

using PluginArguments = google::protobuf::RepeatedPtrField<std::string>;

class Arguments {
 public:
  // `target` holds the default and outlives Parse.
  void Flag(std::string_view name, std::string* target) { flags_.push_back({name, target}); }
  void Flag(std::string_view name, bool* target) { flags_.push_back({name, target}); }
  void Flag(std::string_view name, int64_t* target) { flags_.push_back({name, target}); }

  // What stopped the parsing, as words for the job's user; empty when everything was understood. Never fails otherwise:
  // upstream runs the plugin with what it could read.
  std::string Parse(const PluginArguments& words) const;

 private:
  struct Definition {
    std::string_view name;
    std::variant<std::string*, bool*, int64_t*> target;
  };
  const Definition* FindFlag(std::string_view name) const;

  std::vector<Definition> flags_;
};

}  // namespace basalt::jobsvc
