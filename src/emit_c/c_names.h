// Identifiers of C for names of a model.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace intarsia {

/// Returns the name as an identifier: characters other than ASCII letters, digits and underscores become
/// underscores, and a name that does not begin with a letter gets a "v" in front. "image:0" is image_0, and
/// "0" is v0.
std::string to_identifier(const std::string& name);

/// Checks whether the identifier is a keyword of C11 or of C++20, which may include the header.
bool is_keyword(const std::string& identifier);

/// Returns the identifier for macros: "net" is NET.
std::string to_upper(std::string identifier);

/// Identifiers that users gave to names of the model.
using GivenNames = std::map<std::string, std::string>;

/// Checks that each is an identifier and not a keyword.
Status check_given_names(const GivenNames& given);

/// Names that share a scope, such as the inputs of a function.
class CScope {
 public:
  explicit CScope(const GivenNames& given) : given_(given) {}

  /// Returns the identifier of a name. `what` describes it in messages: "input". Errors: it is a keyword, or
  /// another name of the scope has the same one.
  Result<std::string> add(const std::string& what, const std::string& name);

 private:
  const GivenNames& given_;
  std::map<std::string, std::string> names_;  // by identifier
};

}  // namespace intarsia
