# basalt_library(NAME SRCS … DEPS …), basalt_binary(…), basalt_test(NAME SRCS … DEPS … [LABELS …] [TIMEOUT s]).
# A folder is one target, its DEPS line is the layer rule.
function(basalt_library name)
  cmake_parse_arguments(A "" "" "SRCS;DEPS" ${ARGN})
  if(A_SRCS)
    add_library(${name} STATIC ${A_SRCS})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${A_DEPS} PRIVATE basalt_options)
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
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()

# LABELS: "unit" (the default) runs everywhere, "integration" starts servers in process, "e2e" starts processes,
# "simulation" runs thousands of seeds, "seeds" a hundred of them. "threads" stands beside one of them: the test has
# several threads of its own, so that TSan can find something; on SimLoop alone it cannot.
# What ASan and UBSan run: unit tests, seeds and threads. What TSan runs: threads.
add_custom_target(sanitized_tests)
add_custom_target(threaded_tests)

# basalt_sanitize(TARGET LABEL…): builds the target with the sanitizers that its labels ask for.
function(basalt_sanitize name)
  if("unit" IN_LIST ARGN OR "seeds" IN_LIST ARGN OR "threads" IN_LIST ARGN)
    add_dependencies(sanitized_tests ${name})
  endif()
  if("threads" IN_LIST ARGN)
    add_dependencies(threaded_tests ${name})
  endif()
endfunction()

function(basalt_test name)
  cmake_parse_arguments(A "" "TIMEOUT" "SRCS;DEPS;LABELS;ARGS" ${ARGN})
  add_executable(${name} ${A_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${A_DEPS} basalt_test_main dep_gtest basalt_options)
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 60)
  endif()
  basalt_sanitize(${name} ${A_LABELS})
  add_test(NAME ${name} COMMAND ${name} ${A_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT})
  if(BASALT_SANITIZER STREQUAL "tsan")
    set_tests_properties(${name} PROPERTIES ENVIRONMENT
      "TSAN_OPTIONS=ignore_noninstrumented_modules=1 suppressions=${PROJECT_SOURCE_DIR}/tests/checks/tsan.supp halt_on_error=1")
  endif()
endfunction()
