# How every target of this project is compiled.
include_guard()
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without this it passes by what is compiled with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER /usr/bin/env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

# Flags of our own targets. -ffp-contract=off: results must not depend on whether the compiler fuses a*b+c.
# -fno-semantic-interposition: position-independent code may still inline its own functions (6 % of the 256-rank ring).
# -fno-tree-slp-vectorize: g++ 12 drops the rounding of two neighbouring double → float → double conversions.
add_library(kernbench_flags INTERFACE)
target_compile_options(kernbench_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers
  -Wno-restrict  # g++ 12 sees overlaps in std::string that are none (GCC bug 105651)
  -Wno-subobject-linkage  # of classes that a .cpp file defines and a unity build includes
  -Werror
  -ffp-contract=off -fno-tree-slp-vectorize
  -fno-semantic-interposition
  # g++ collects its garbage less often: a tenth of the time to build, for up to a quarter more memory.
  "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-heapsize=524288>")
if(KERNBENCH_SANITIZE)
  add_compile_options(-fsanitize=${KERNBENCH_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${KERNBENCH_SANITIZE})
  if(KERNBENCH_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
