include_guard()

# kernbench_layer(NAME SOURCES a.cpp … [USES layer …] [LINKS target …])
#
# Defines the library kernbench_NAME (alias kernbench::NAME) from src/NAME. USES names the layers it may
# call, LINKS third-party targets its .cpp files need. Public headers are in include/kernbench, headers of
# the layer's own and its neighbours' are included as "layer/file.hpp".
function(kernbench_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES;LINKS" ${ARGN})
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
  set_property(GLOBAL APPEND PROPERTY KERNBENCH_LAYERS ${target})
endfunction()
