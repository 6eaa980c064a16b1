// Option of every command that opens devices.
#pragma once

#include <CLI/CLI.hpp>

/// Adds --plugin LIB.so, which loads the plug-ins before the command starts.
CLI::Option* add_plugin_option(CLI::App& command);
