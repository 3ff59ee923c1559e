include_guard()

# kernbench_units(TARGET N): a unity build compiles the target's files as N units. Fewer take less time in all, since
# what each instantiates from the same headers is compiled once; but no unit should take more than 20 s of
# processor time, which is what one waits for after changing one of its files.
function(kernbench_units target units)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources files)
  math(EXPR batch "(${files} + ${units} - 1) / ${units}")
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()

# The target `generated_sources` makes every source that is not in the repository, and compiles nothing: for tools that only read sources.
add_custom_target(generated_sources)

# kernbench_embed_text(LAYER FILE.cpp NAME=PATH …): a custom command that writes FILE.cpp, which holds the text files as constants of
# the layer (EmbedText.cmake).
function(kernbench_embed_text layer file)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake)
  list(TRANSFORM ARGN REPLACE "^[^=]+=" "" OUTPUT_VARIABLE paths)
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -DLAYER=${layer} -DOUT=${CMAKE_CURRENT_BINARY_DIR}/${file} "-DFILES=${ARGN}" -P ${script}
    DEPENDS ${paths} ${script}
    VERBATIM)
  add_custom_target(${layer}_embedded_text DEPENDS ${file})
  add_dependencies(generated_sources ${layer}_embedded_text)
endfunction()

# kernbench_layer(NAME SOURCES a.cpp … [USES layer …] [LINKS target …] [UNITS n] [COLD])
#
# Defines the library kernbench_NAME (alias kernbench::NAME) from src/NAME. USES names the layers it may
# call, LINKS third-party targets its .cpp files need. Public headers are in include/kernbench, headers of
# the layer's own and its neighbours' are included as "layer/file.hpp". UNITS: see kernbench_units; one if not given.
# COLD: no run spends its time here, so that less optimization will do and compiles faster.
function(kernbench_layer name)
  cmake_parse_arguments(arg "COLD" "UNITS" "SOURCES;USES;LINKS" ${ARGN})
  set(target kernbench_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(kernbench::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM arg_USES PREPEND kernbench_)
  target_link_libraries(${target} PUBLIC ${arg_USES} PRIVATE ${arg_LINKS} $<BUILD_INTERFACE:kernbench_flags>)
  if(arg_UNITS)
    kernbench_units(${target} ${arg_UNITS})
  endif()
  if(arg_COLD)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  set_property(GLOBAL APPEND PROPERTY KERNBENCH_LAYERS ${target})
endfunction()
