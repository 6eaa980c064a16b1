# Tests of the run half alone, which also run for other architectures, under an emulator.

# Tests of programs that this machine's compiler made for the other one.
function(intarsia_test_there name)
  if(NOT CMAKE_CROSSCOMPILING)
    return()
  endif()
  list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)  # whose options may have commas, unlike lists of $<JOIN>
  set(python_path ${CMAKE_CURRENT_SOURCE_DIR}/support:${CMAKE_CURRENT_SOURCE_DIR}/conformance:${CMAKE_SOURCE_DIR}/build/release/python)
  add_test(NAME ${name} COMMAND ${INTARSIA_VENV}/bin/python -m pytest -q -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/arch/${name}.py)
  set_tests_properties(${name} PROPERTIES TIMEOUT 3600 LABELS fast ENVIRONMENT
    "INTARSIA_ARCH=${CMAKE_SYSTEM_PROCESSOR};INTARSIA_BUILD=${CMAKE_BINARY_DIR};INTARSIA_CC=${CMAKE_C_COMPILER};INTARSIA_CXX=${CMAKE_CXX_COMPILER};INTARSIA_RUNNER=${emulator} $<TARGET_FILE:run_raw>;PYTHONPATH=${python_path};PYTHONDONTWRITEBYTECODE=")
endfunction()
add_executable(run_raw support/run_raw.cc)
set(callers run_raw)
if(INTARSIA_LEFT_OUT)
  add_executable(left_out_calls support/left_out_calls.c)
  list(APPEND callers left_out_calls)
endif()
foreach(program ${callers})
  target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${program} PRIVATE intarsia)
endforeach()
intarsia_test_there(debian_package)
if(INTARSIA_LEFT_OUT)  # other tests link all parts
  intarsia_test_there(left_out)
  return()
endif()
intarsia_test_there(programs)
intarsia_test_there(onnx_operators)
intarsia_test_there(plain_c)

# base
intarsia_tests(thread_tests THREADS LIBRARIES intarsia_base FILES base/pool_cores.cc base/thread_pool.cc)

# Tests that need programs: hand-made, for the toy backend, without the compile half except the linking of objects.
add_library(intarsia_runtime_support STATIC support/bodies_support.cc support/runtime_support.cc ${CMAKE_SOURCE_DIR}/src/compile/link_objects.cc)
target_link_libraries(intarsia_runtime_support PUBLIC intarsia_runtime)
precompile_headers(intarsia_runtime_support)

# program
intarsia_tests(program_tests LIBRARIES intarsia_runtime_support
               FILES program/program_file.cc program/variants.cc program/verify_bodies.cc program/verify_program.cc program/verify_unshared.cc compile/link_objects.cc)

# device, runtime
intarsia_tests(device_tests THREADS LIBRARIES intarsia_runtime_support
               FILES device/cuda.cc device/devices.cc device/opencl.cc device/opencl_cores.cc device/opencl_faults.cc device/opencl_threads.cc)
intarsia_tests(runtime_tests THREADS LIBRARIES intarsia_runtime_support
               FILES runtime/append_in_place.cc runtime/body_steps.cc runtime/find_function.cc runtime/open_memory.cc runtime/overlap.cc
                     runtime/profile_session.cc runtime/program_table.cc runtime/session.cc runtime/source_layout.cc runtime/specializations.cc
                     runtime/stages.cc)
intarsia_tests(pipeline_tests THREADS LIBRARIES intarsia_pipeline
               FILES pipeline/frame_items.cc pipeline/live_frames.cc pipeline/pipeline.cc pipeline/pipeline_file.cc
                     pipeline/pipeline_graph.cc pipeline/random_pipelines.cc pipeline/replicas.cc)
# A driver of CUDA, found by its name where a test puts its folder into LD_LIBRARY_PATH.
add_library(fake_cuda SHARED support/fake_cuda.cc)
set_target_properties(fake_cuda PROPERTIES PREFIX "" OUTPUT_NAME libcuda.so.1 SUFFIX ""
                                           LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fake_cuda)
target_compile_options(fake_cuda PRIVATE -fvisibility=default -fno-sanitize=all)  # its types are others
add_dependencies(fast_tests fake_cuda)
add_dependencies(device_tests opencl_faults)
if(NOT sanitized)  # sanitizers replace malloc, too
  intarsia_tests(runtime_allocations LIBRARIES intarsia_run_api intarsia_runtime_support
                 FILES runtime/allocations.cc support/count_allocations.cc support/toy_run_backends.cc)
endif()

# api
intarsia_tests(run_api_tests THREADS LIBRARIES intarsia_run_api intarsia_runtime_support
               FILES api/output_shapes.cc api/pipeline_api.cc api/pools.cc api/random_pipeline_calls.cc api/run_api.cc support/toy_run_backends.cc)
intarsia_tests(struct_sizes LIBRARIES intarsia_run_api FILES api/struct_sizes.cc)

# backends
intarsia_tests(kernel_runtime_tests THREADS LIBRARIES intarsia_halide_run FILES backends/halide/function_regions.cc backends/halide/kernel_runtime.cc
                     backends/halide/room_pool.cc)
target_include_directories(kernel_runtime_tests PRIVATE ${CMAKE_BINARY_DIR}/generated)
