# cmake -DPROGRAM=… -DEXPECTED=FILE -P compare_output.cmake: runs PROGRAM; its output must equal FILE.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE actual RESULT_VARIABLE code)
file(READ ${EXPECTED} expected)
if(NOT code EQUAL 0 OR NOT actual STREQUAL expected)
  message(FATAL_ERROR "exit code ${code}; expected\n${expected}\nbut got\n${actual}")
endif()
