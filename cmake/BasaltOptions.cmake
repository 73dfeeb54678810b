# Sets the options that all targets share: compilers, warnings, sanitizers.
option(BASALT_WERROR "Warnings in our own code are errors" ON)
option(BASALT_UNITY "Several sources of a folder are compiled as one" OFF)
option(BASALT_STATIC "Programs contain gRPC, protobuf, Abseil, RE2 and RocksDB" OFF)
set(BASALT_REVISION "" CACHE STRING "The commit that --version names; empty: none")
set(BASALT_SANITIZER "" CACHE STRING "empty, asan-ubsan, tsan or fuzzer")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Debug information contains only lines, which halves the size of the objects and the time of the link.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# All objects are linked into programs. With the same option for all, they can share precompiled headers.
add_compile_options(-fPIE)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # GCC would walk through the precompiled headers at each garbage collection. Most sources need less than this heap
  # (KiB) and never collect.
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
  # With optimisation, GCC 12 reports these warnings falsely inside the standard library.
  target_compile_options(basalt_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized
    -Wno-missing-field-initializers -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-dangling-pointer)
endif()

if(BASALT_SANITIZER STREQUAL "asan-ubsan")
  # -O1 takes half as long again to compile, since the optimiser works on UBSan's checks. -O0 compiles no faster than
  # -Og and runs four times as long.
  add_compile_options(-Og -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(BASALT_SANITIZER STREQUAL "tsan")
  # protobuf changes the layout of its types under __SANITIZE_THREAD__, but Debian's library is built without it.
  add_compile_options(-fsanitize=thread -U__SANITIZE_THREAD__ -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(BASALT_SANITIZER STREQUAL "fuzzer")
  # Only clang has libFuzzer, which recognises a new input by the edges that it takes.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(NOT BASALT_SANITIZER STREQUAL "")
  message(FATAL_ERROR "BASALT_SANITIZER is '${BASALT_SANITIZER}'; it is empty, asan-ubsan, tsan or fuzzer")
endif()
