// intarsia run -i FOLDER
#pragma once

#include "cli/commands/run_work.h"

/// Runs each file of the folder, in the order of their names (input_folder.h); outputs go into a folder for
/// each. A file that cannot be run is an error that names it, and the output written by then stays.
void run_folder(const RunOptions& options);
