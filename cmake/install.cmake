# `cmake --install` and find_package(Intarsia): the targets Intarsia::intarsia (run) and, with the compiler,
# Intarsia::compile. Programs that only run link the first, which pulls in nothing else.
include(CMakePackageConfigHelpers)

set(library_targets intarsia)
if(INTARSIA_COMPILER)
  list(APPEND library_targets intarsia_compile_library)
  set_target_properties(intarsia_compile_library PROPERTIES EXPORT_NAME compile)
endif()
foreach(target ${library_targets})
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:include>)
endforeach()

install(TARGETS ${library_targets} EXPORT IntarsiaTargets COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(worker intarsia_load intarsia_codegen intarsia_generate)
  if(TARGET ${worker})
    install(TARGETS ${worker} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  endif()
endforeach()
install(DIRECTORY include/intarsia DESTINATION include COMPONENT development)
if(INTARSIA_COMPILER)
  # Where its libraries are: next to bin/, or in a wheel above it.
  set_target_properties(intarsia_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN/..")
  install(TARGETS intarsia_cli RUNTIME DESTINATION bin COMPONENT development)
endif()
# All that running programs takes: `cmake --install build/release --component run`. Not part of `cmake --install` without a
# component, which installs these files already.
install(TARGETS intarsia LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP COMPONENT run EXCLUDE_FROM_ALL)
if(INTARSIA_COMPILER)
  install(TARGETS intarsia_cli RUNTIME DESTINATION bin COMPONENT run EXCLUDE_FROM_ALL)
endif()
install(EXPORT IntarsiaTargets NAMESPACE Intarsia:: FILE IntarsiaTargets.cmake COMPONENT development
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Intarsia)
file(WRITE ${CMAKE_BINARY_DIR}/IntarsiaConfig.cmake "include(\${CMAKE_CURRENT_LIST_DIR}/IntarsiaTargets.cmake)\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/IntarsiaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/IntarsiaConfig.cmake ${CMAKE_BINARY_DIR}/IntarsiaConfigVersion.cmake
        COMPONENT development DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Intarsia)

# For pkg-config; found from where the file is, so that what is installed may be moved.
file(RELATIVE_PATH INTARSIA_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(pc_packages intarsia)
if(INTARSIA_COMPILER)
  list(APPEND pc_packages intarsia-compile)
endif()
foreach(package ${pc_packages})
  configure_file(cmake/${package}.pc.in ${CMAKE_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${package}.pc COMPONENT development DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

if(INTARSIA_COMPILER)
  set(command_files ${CMAKE_BINARY_DIR}/command_files)
  install(FILES ${command_files}/intarsia COMPONENT development DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${command_files}/_intarsia COMPONENT development DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${command_files}/intarsia.fish COMPONENT development DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  install(DIRECTORY ${command_files}/ COMPONENT development DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
endif()
