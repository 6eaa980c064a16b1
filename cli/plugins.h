// The option that every command has which opens devices.
#pragma once

#include <CLI/CLI.hpp>

/// --plugin LIB.so, which loads the plug-ins before the command begins.
CLI::Option* add_plugin_option(CLI::App& command);
