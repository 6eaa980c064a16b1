// Options that say how to compile a model, for every command that takes one.
#pragma once

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <intarsia/intarsia_compile.hpp>
#include <iterator>
#include <string>
#include <vector>

/// Adds an option whose values are the words of a choice.
template <typename Choice>
CLI::Option* add_choice(CLI::App& command, const char* name, Choice& choice, const char* description) {
  const std::vector<std::string> words(std::begin(intarsia::detail::Words<Choice>::list),
                                       std::end(intarsia::detail::Words<Choice>::list));
  const auto set = [&choice, name](const std::string& word) {
    choice = intarsia::detail::choice_of<Choice>(word, name);
  };
  return command.add_option_function<std::string>(name, set, description)
      ->check(CLI::IsMember(words))
      ->type_name(fmt::format("{}", fmt::join(words, "|")));
}

/// Adds the options to the command; `options` must outlive it.
void add_compile_options(CLI::App& command, intarsia::CompileOptions& options);

/// Adds to the description of --shape what it means for a program; `also` is what else it may be there.
void describe_shape_of_program(CLI::App& command, const std::string& also);
/// Throws UsageError if a compile option that is not in `allowed` was given: a program is already compiled.
void refuse_compile_options(const CLI::App& command, const std::vector<std::string>& allowed);

/// Returns the files that a compile of `model` reads.
std::vector<std::string> inputs_of(const std::string& model, const intarsia::CompileOptions& options);

/// Checks whether `path` is a program (an ELF file); false for anything else, even an unreadable file.
bool is_program(const std::string& path);
