include_guard()
include(CMakePackageConfigHelpers)

# Installs all layers, the public headers and the package files, so that a user's project says
#   find_package(kernbench REQUIRED)
#   target_link_libraries(mine PRIVATE kernbench::kernbench)
function(kernbench_install)
  get_property(layers GLOBAL PROPERTY KERNBENCH_LAYERS)
  add_library(kernbench_all INTERFACE)
  add_library(kernbench::kernbench ALIAS kernbench_all)
  set_target_properties(kernbench_all PROPERTIES EXPORT_NAME kernbench)
  target_link_libraries(kernbench_all INTERFACE ${layers})

  install(TARGETS kernbench_all ${layers} EXPORT kernbenchTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS kernbench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/kernbench DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  if(KERNBENCH_PYTHON)  # beside the library: PREFIX/lib/python is what goes on PYTHONPATH
    install(TARGETS kernbench_python LIBRARY DESTINATION lib/python/kernbench OPTIONAL)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/kernbench DESTINATION lib/python
      FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
  endif()
  install(FILES ${PROJECT_SOURCE_DIR}/topology.yaml ${PROJECT_SOURCE_DIR}/ccl.yaml DESTINATION ${CMAKE_INSTALL_DATADIR}/kernbench)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/topologies DESTINATION ${CMAKE_INSTALL_DATADIR}/kernbench)

  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kernbench)
  install(EXPORT kernbenchTargets NAMESPACE kernbench:: DESTINATION ${package_dir})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/kernbenchConfig.cmake.in
    ${PROJECT_BINARY_DIR}/kernbenchConfig.cmake INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/kernbenchConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/kernbenchConfig.cmake
    ${PROJECT_BINARY_DIR}/kernbenchConfigVersion.cmake DESTINATION ${package_dir})
endfunction()
