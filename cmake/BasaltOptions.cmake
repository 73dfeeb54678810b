# Compilers, warnings, sanitizers. One place for everything that every target shares.
option(BASALT_WERROR "Warnings in our own code are errors" ON)
option(BASALT_UNITY "Several sources of a folder are compiled as one" OFF)
option(BASALT_STATIC "Programs contain gRPC, protobuf, Abseil, RE2 and RocksDB" OFF)
set(BASALT_REVISION "" CACHE STRING "The commit that --version names; empty: none")
set(BASALT_SANITIZER "" CACHE STRING "empty, asan-ubsan, tsan or fuzzer")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Debug information for lines only: it halves the objects and the link.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# Everything is linked into programs, so that all sources share precompiled headers.
add_compile_options(-fPIE)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # GCC would walk through the precompiled headers whenever it collects its garbage; most sources need less than this (KiB).
  add_compile_options(--param=ggc-min-heapsize=524288)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

add_library(basalt_options INTERFACE)
target_compile_options(basalt_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
  -Woverloaded-virtual -Wimplicit-fallthrough)
if(BASALT_WERROR)
  target_compile_options(basalt_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(basalt_options INTERFACE -Wthread-safety -Wno-missing-field-initializers)
else()
  # GCC 12 reports these falsely inside the standard library under optimisation.
  target_compile_options(basalt_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized
    -Wno-missing-field-initializers -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-dangling-pointer)
endif()

if(BASALT_SANITIZER STREQUAL "asan-ubsan")
  # -O1 takes half as long again to compile, as the optimiser goes through UBSan's checks; -O0 no less than this, and four
  # times as long to run.
  add_compile_options(-Og -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(BASALT_SANITIZER STREQUAL "tsan")
  # protobuf changes the layout of its types under __SANITIZE_THREAD__; Debian's library is built without.
  add_compile_options(-fsanitize=thread -U__SANITIZE_THREAD__ -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(BASALT_SANITIZER STREQUAL "fuzzer")
  # Of clang alone: libFuzzer sees by the edges that an input takes whether the input is new to it.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(NOT BASALT_SANITIZER STREQUAL "")
  message(FATAL_ERROR "BASALT_SANITIZER is '${BASALT_SANITIZER}'; it is empty, asan-ubsan, tsan or fuzzer")
endif()
