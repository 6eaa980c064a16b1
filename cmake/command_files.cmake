# Completion in shells and manual pages, written by the command that was built.
#   cmake -DINTARSIA=build/bin/intarsia -DFOLDER=build/release/command_files -P cmake/command_files.cmake
function(write_output file)
  execute_process(COMMAND ${INTARSIA} ${ARGN} OUTPUT_FILE ${FOLDER}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(MAKE_DIRECTORY ${FOLDER})
write_output(intarsia completion bash)
write_output(_intarsia completion zsh)
write_output(intarsia.fish completion fish)
write_output(intarsia.1 manual)
foreach(command compile run check bench explain split rewrite tune-pack costs devices completion)
  write_output(intarsia-${command}.1 manual ${command})
endforeach()
