// Text that --help prints.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

/// Formatter with lines of the terminal's width; options of a group are together, in the order in which they
/// were added.
class Help : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_usage(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

/// Groups of options, by what a user looks for.
namespace help_group {
inline constexpr const char* pictures = "Pictures as inputs";
inline constexpr const char* insight = "Looking inside";
inline constexpr const char* pipelines = "Pipelines";
inline constexpr const char* placement = "What runs where";
inline constexpr const char* code = "Code and kernels";
inline constexpr const char* plain_c = "Plain C";
inline constexpr const char* model = "More about the model";
inline constexpr const char* throughput = "Stages for throughput";
}  // namespace help_group
