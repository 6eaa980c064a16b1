#include "emit_c/c_names.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

namespace intarsia {
namespace {

constexpr std::string_view keywords[] = {
    "alignas",      "alignof",   "and",           "and_eq",    "asm",          "auto",
    "bitand",       "bitor",     "bool",          "break",     "case",         "catch",
    "char",         "char16_t",  "char32_t",      "char8_t",   "class",        "co_await",
    "co_return",    "co_yield",  "compl",         "concept",   "const",        "const_cast",
    "consteval",    "constexpr", "constinit",     "continue",  "decltype",     "default",
    "delete",       "do",        "double",        "dynamic_cast", "else",      "enum",
    "explicit",     "export",    "extern",        "false",     "float",        "for",
    "friend",       "goto",      "if",            "inline",    "int",          "long",
    "mutable",      "namespace", "new",           "noexcept",  "not",          "not_eq",
    "nullptr",      "operator",  "or",            "or_eq",     "private",      "protected",
    "public",       "register",  "reinterpret_cast", "requires", "restrict",   "return",
    "short",        "signed",    "sizeof",        "static",    "static_assert", "static_cast",
    "struct",       "switch",    "template",      "this",      "thread_local", "throw",
    "true",         "try",       "typedef",       "typeid",    "typename",     "union",
    "unsigned",     "using",     "virtual",       "void",      "volatile",     "wchar_t",
    "while",        "xor",       "xor_eq"};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 128; }
bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }

}  // namespace

std::string to_identifier(const std::string& name) {
  std::string identifier = name;
  std::ranges::replace_if(identifier, [](char c) { return !is_word(c); }, '_');
  if (identifier.empty() || !is_letter(identifier[0])) identifier.insert(0, 1, 'v');
  return identifier;
}

bool is_keyword(const std::string& identifier) {
  return std::ranges::find(keywords, identifier) != std::end(keywords);
}

std::string to_upper(std::string identifier) {
  for (char& c : identifier) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return identifier;
}

Status check_given_names(const GivenNames& given) {
  for (const auto& [name, identifier] : given) {
    if (identifier.empty() || !is_letter(identifier[0]) || !std::ranges::all_of(identifier, is_word))
      return fail("--c-name {}={}: want a letter, then letters, digits and underscores", name, identifier);
    if (is_keyword(identifier))
      return fail("--c-name {}={}: it is a keyword of C or C++; want another name", name, identifier);
  }
  return {};
}

Result<std::string> CScope::add(const std::string& what, const std::string& name) {
  const auto known = given_.find(name);
  std::string identifier = known != given_.end() ? known->second : to_identifier(name);
  if (is_keyword(identifier))
    return fail(ErrorKind::unsupported, "{} '{}' is a keyword of C or C++: give it another name with --c-name '{}=NAME'",
                what, name, name);
  const auto [other, is_new] = names_.emplace(identifier, name);
  if (!is_new)
    return fail(ErrorKind::unsupported, "'{}' and {} '{}' are both {} in C: give one another name with --c-name '{}=NAME'",
                other->second, what, name, identifier, name);
  return identifier;
}

}  // namespace intarsia
