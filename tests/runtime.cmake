# Tests of the run half. They link nothing of the compile half but the linking of objects.
add_library(intarsia_runtime_support STATIC runtime_support.cc ${CMAKE_SOURCE_DIR}/src/compile/link_objects.cc)
target_link_libraries(intarsia_runtime_support PUBLIC intarsia_runtime)

foreach(name program_file verify session devices link overlap)
  intarsia_test(runtime_${name} LIBRARIES intarsia_runtime_support)
endforeach()
target_compile_definitions(runtime_link PRIVATE INTARSIA_C_COMPILER="${CMAKE_C_COMPILER}")
intarsia_test(thread_pool LIBRARIES intarsia_base)
intarsia_test(halide_host LIBRARIES intarsia_halide_run)
intarsia_test(progress LIBRARIES intarsia_base)
intarsia_test(runtime_api LIBRARIES intarsia_run_api intarsia_runtime_support)
# A sanitizer replaces malloc too.
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  intarsia_test(runtime_allocations LIBRARIES intarsia_run_api intarsia_runtime_support)
  target_sources(runtime_allocations PRIVATE count_allocations.cc)
  add_executable(bench_dispatch ${CMAKE_SOURCE_DIR}/bench/dispatch.cc count_allocations.cc)
  target_link_libraries(bench_dispatch PRIVATE intarsia_runtime_support)
endif()

# libFuzzer comes with clang; preset "fuzz" (CMakePresets.json).
if(INTARSIA_FUZZ)
  add_executable(fuzz_program fuzz/fuzz_program.cc)
  target_link_libraries(fuzz_program PRIVATE intarsia_program)
  target_link_options(fuzz_program PRIVATE -fsanitize=fuzzer)
  find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
  add_executable(fuzz_halide_plan fuzz/fuzz_halide_plan.cc)
  target_include_directories(fuzz_halide_plan PRIVATE ${CMAKE_BINARY_DIR}/generated ${XXHASH_INCLUDE_DIR})
  target_link_libraries(fuzz_halide_plan PRIVATE intarsia_halide_run intarsia_program)
  target_link_options(fuzz_halide_plan PRIVATE -fsanitize=fuzzer)
endif()

add_test(NAME runtime_symbols COMMAND python3 ${CMAKE_SOURCE_DIR}/tests/check_symbols.py $<TARGET_FILE:intarsia>)
set_tests_properties(runtime_symbols PROPERTIES LABELS fast)
