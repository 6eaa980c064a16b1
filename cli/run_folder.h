// intarsia run -i FOLDER
#pragma once

#include "run_work.h"

/// Does one of the inputs name a folder?
bool has_folder(const InputOptions& inputs);

/// A run for each file in it, in the order of their names; outputs are in a folder for each. A file that
/// cannot be run is an error that names it, and what was written before it stays.
void run_folder(const RunOptions& options);
