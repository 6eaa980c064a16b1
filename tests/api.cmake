# Tests of what a user touches: the C API of the compile half and the command line.
intarsia_test(compile_api LIBRARIES intarsia intarsia_compile_library)
target_compile_definitions(compile_api PRIVATE FMT_HEADER_ONLY)
target_include_directories(compile_api PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src)

# Callers compiled against other headers than the library. The first header's folder must be the only one that the
# compiler sees.
intarsia_test(struct_sizes SOURCE api/struct_sizes.cc LIBRARIES intarsia_run_api)
add_executable(first_header api/first_header/caller.c)
target_include_directories(first_header PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/api/first_header)
target_link_libraries(first_header PRIVATE $<TARGET_FILE:intarsia> ${CMAKE_DL_LIBS})
set_target_properties(first_header PROPERTIES BUILD_RPATH ${CMAKE_LIBRARY_OUTPUT_DIRECTORY} UNITY_BUILD OFF)
add_dependencies(first_header intarsia intarsia_compile_library)

set(environment "INTARSIA_CLI=$<TARGET_FILE:intarsia_cli>;INTARSIA_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1;XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/cache")
foreach(name cli cli_bench cli_check cli_errors cli_inputs first_header installed readme tuning plans code_generation)
  add_test(NAME ${name} COMMAND ${INTARSIA_VENV}/bin/python -m pytest -q -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/${name}.py)
  set_tests_properties(${name} PROPERTIES LABELS fast TIMEOUT 900 ENVIRONMENT "${environment}")
endforeach()
set_tests_properties(tuning code_generation installed readme PROPERTIES LABELS slow)
