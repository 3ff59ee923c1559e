include_guard()

# Finds the interpreter that the Python package is built for and tested with: the first of the candidates that imports numpy
# (and, for the tests, pytest), is 3.9 or newer and has Python.h. Plain `find_package` would take the first python3 of the PATH, whatever it lacks.
# Sets KERNBENCH_PYTHON to that interpreter, or leaves it empty after a message that says why there is no package.
set(KERNBENCH_PYTHON_PROBE [[
import os, sys, sysconfig
assert sys.version_info >= (3, 9), "is older than 3.9"
for module in sys.argv[1:]:
    try:
        __import__(module)
    except ImportError:
        raise AssertionError("has no " + module)
assert os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")), "has no Python.h"
]])

set(KERNBENCH_PYTHON_MODULES numpy)
if(KERNBENCH_TESTS)
  list(APPEND KERNBENCH_PYTHON_MODULES pytest)
endif()

function(kernbench_probe_python candidate problem)
  execute_process(COMMAND ${candidate} -c ${KERNBENCH_PYTHON_PROBE} ${KERNBENCH_PYTHON_MODULES} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
  if(failed EQUAL 0)
    set(${problem} "" PARENT_SCOPE)
  elseif(said MATCHES "AssertionError: ([^\n]+)")
    set(${problem} "${candidate} ${CMAKE_MATCH_1}" PARENT_SCOPE)
  else()
    set(${problem} "${candidate} does not run" PARENT_SCOPE)
  endif()
endfunction()

function(kernbench_find_python)
  set(KERNBENCH_PYTHON "" PARENT_SCOPE)
  set(candidates ${Python_EXECUTABLE} ${Python3_EXECUTABLE})
  if(DEFINED ENV{VIRTUAL_ENV})
    list(APPEND candidates $ENV{VIRTUAL_ENV}/bin/python3)
  endif()
  list(APPEND candidates python3 /usr/bin/python3)
  list(REMOVE_DUPLICATES candidates)
  set(problems)
  foreach(candidate IN LISTS candidates)
    kernbench_probe_python(${candidate} problem)
    if(NOT problem)
      set(KERNBENCH_PYTHON ${candidate} PARENT_SCOPE)
      return()
    endif()
    list(APPEND problems ${problem})
  endforeach()
  list(JOIN problems "; " problems)
  message(STATUS "No Python package: ${problems}. Remedy: scripts/setup.sh python, or -DPython_EXECUTABLE=…")
endfunction()

# -DKERNBENCH_PYTHON=OFF asks for a build without it.
if(DEFINED CACHE{KERNBENCH_PYTHON} AND NOT "$CACHE{KERNBENCH_PYTHON}")
  message(STATUS "No Python package: KERNBENCH_PYTHON=$CACHE{KERNBENCH_PYTHON}")
  set(KERNBENCH_PYTHON "")
else()
  kernbench_find_python()
endif()
if(KERNBENCH_PYTHON)
  set(Python_EXECUTABLE ${KERNBENCH_PYTHON})
  find_program(kernbench_python_path ${KERNBENCH_PYTHON} NO_CACHE)
  if(kernbench_python_path)
    set(Python_EXECUTABLE ${kernbench_python_path})
    set(KERNBENCH_PYTHON ${kernbench_python_path})
  endif()
  set(PYBIND11_FINDPYTHON ON)
  find_package(Python QUIET COMPONENTS Interpreter Development.Module)
  if(Python_FOUND)
    find_package(pybind11 CONFIG QUIET)
  endif()
  if(NOT pybind11_FOUND)
    message(STATUS "No Python package: pybind11 is missing. Remedy: scripts/setup.sh python")
    set(KERNBENCH_PYTHON "")
  else()
    message(STATUS "Python package: for ${KERNBENCH_PYTHON}")
  endif()
endif()
