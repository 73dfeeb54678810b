# Headers of other libraries that most sources read are compiled once for each preset, in three sets. Our own headers
# are never among them, so that a change of one compiles only the sources that include it. A source still includes what
# it uses, since clang-tidy reads sources without these sets.
set(headers_base
  <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <deque> <filesystem> <functional> <list> <map>
  <memory> <mutex> <numeric> <optional> <semaphore> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map>
  <unordered_set> <utility> <variant> <vector>
  <absl/functional/any_invocable.h> <absl/status/status.h> <absl/status/statusor.h> <absl/synchronization/mutex.h>
  <absl/time/time.h> <boost/json.hpp> <fmt/format.h> <google/protobuf/extension_set.h>
  <google/protobuf/generated_message_bases.h> <google/protobuf/map.h> <google/protobuf/message.h>)
set(headers_test ${headers_base} <gmock/gmock.h> <gtest/gtest.h>)
set(headers_grpc ${headers_test} <grpcpp/grpcpp.h>)

# GCC refuses a set if a macro that the set has read is defined differently. Therefore the definitions of these
# libraries are set for all targets.
foreach(dependency IN ITEMS absl json fmt protobuf gtest grpc)
  target_compile_definitions(basalt_options INTERFACE
    $<TARGET_PROPERTY:dep_${dependency},INTERFACE_COMPILE_DEFINITIONS>)
  target_compile_options(basalt_options INTERFACE $<TARGET_PROPERTY:dep_${dependency},INTERFACE_COMPILE_OPTIONS>)
endforeach()

foreach(set IN ITEMS base test grpc)
  add_library(precompiled_${set} OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled.cc)
  target_link_libraries(precompiled_${set} PRIVATE basalt_options dep_absl dep_json dep_fmt dep_protobuf dep_gtest dep_grpc)
  target_precompile_headers(precompiled_${set} PRIVATE ${headers_${set}})
endforeach()

# basalt_precompiled(TARGET DEPENDENCY…): gives a target of ours the smallest set with the headers of its dependencies.
function(basalt_precompiled target)
  set(set base)
  if("dep_gtest" IN_LIST ARGN)
    set(set test)
  endif()
  if("${ARGN}" MATCHES "_grpc")
    set(set grpc)
  endif()
  target_precompile_headers(${target} REUSE_FROM precompiled_${set})
endfunction()
