# basalt_library(NAME SRCS … DEPS …), basalt_binary(…), basalt_test(NAME SRCS … DEPS … [LABELS …] [TIMEOUT s]).
# A folder is one target, and its DEPS line is the layer rule.

# `sanitized_tests` builds the tests that run under a sanitizer: unit, seeds and threads under ASan with UBSan; only
# threads under TSan, since tests with one thread cannot race. `unsanitized` builds all the rest, programs included.
add_custom_target(sanitized_tests)
add_custom_target(unsanitized)
# Builds the tests that scripts/images runs with newer libraries.
add_custom_target(unit_and_integration_tests)

# With BASALT_UNITY eight sources of a target are compiled as one. This halves the time of a first build and makes later
# builds slower. The helpers of one target therefore need different names, also in tests. A source of a test whose
# helpers have the names of another source's is compiled by itself (ALONE). Libraries and programs of tests/ are not
# joined.
function(basalt_unity name)
  if(BASALT_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

function(basalt_unity_product name)
  if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/tests")
    basalt_unity(${name})
  endif()
endfunction()

function(basalt_library name)
  cmake_parse_arguments(A "" "" "SRCS;DEPS" ${ARGN})
  if(A_SRCS)
    add_library(${name} STATIC ${A_SRCS})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${A_DEPS} PRIVATE basalt_options)
    basalt_precompiled(${name} ${A_DEPS})
    basalt_unity_product(${name})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${A_DEPS})
  endif()
endfunction()

function(basalt_binary name)
  cmake_parse_arguments(A "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${A_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${A_DEPS} basalt_options dep_allocator)
  basalt_precompiled(${name} ${A_DEPS})
  basalt_unity_product(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  add_dependencies(unsanitized ${name})
endfunction()

# LABELS: a test with "unit" (the default) runs everywhere, with "integration" it starts servers in its process, with
# "e2e" it starts processes, with "seeds" it runs a hundred seeds of the simulation. "long" marks thousands of seeds and
# other rare tests. "threads" is given beside another label if the test has several threads of its own.

# basalt_sanitize(TEST TARGET LABEL…): chooses by the labels which of the targets above build the test's TARGET.
function(basalt_sanitize test target)
  if("threads" IN_LIST ARGN OR
     (NOT BASALT_SANITIZER STREQUAL "tsan" AND ("unit" IN_LIST ARGN OR "seeds" IN_LIST ARGN)))
    add_dependencies(sanitized_tests ${target})
  else()
    add_dependencies(unsanitized ${target})
  endif()
  if("unit" IN_LIST ARGN OR "integration" IN_LIST ARGN)
    add_dependencies(unit_and_integration_tests ${target})
  endif()
  if(BASALT_SANITIZER STREQUAL "tsan")
    set_tests_properties(${test} PROPERTIES ENVIRONMENT
      "TSAN_OPTIONS=ignore_noninstrumented_modules=1 suppressions=${PROJECT_SOURCE_DIR}/tests/checks/tsan.supp halt_on_error=1")
  endif()
endfunction()

function(basalt_test name)
  cmake_parse_arguments(A "" "TIMEOUT" "SRCS;DEPS;LABELS;ARGS;ALONE" ${ARGN})
  add_executable(${name} ${A_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${A_DEPS} basalt_test_main dep_gtest basalt_options)
  basalt_precompiled(${name} ${A_DEPS} dep_gtest)
  basalt_unity(${name})
  set_source_files_properties(${A_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 60)
  endif()
  if(NOT BASALT_SANITIZER STREQUAL "")
    math(EXPR A_TIMEOUT "3 * ${A_TIMEOUT}")
  endif()
  add_test(NAME ${name} COMMAND ${name} ${A_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT})
  basalt_sanitize(${name} ${name} ${A_LABELS})
endfunction()

# basalt_fuzz(NAME DEPS …): adds a libFuzzer target for NAME_fuzz.cc, which is built on demand and only in the preset
# fuzz.
function(basalt_fuzz name)
  cmake_parse_arguments(A "" "" "DEPS" ${ARGN})
  add_executable(${name}_fuzz ${name}_fuzz.cc)
  target_include_directories(${name}_fuzz PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name}_fuzz PRIVATE ${A_DEPS} fuzz_input basalt_options)
  target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name}_fuzz PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  add_dependencies(fuzz_targets ${name}_fuzz)
endfunction()
