// Attributes with a form of their own: equations of Einsum, and what windows slide by.
//
// Covers: src/base/ einsum_equation.cc window_attributes.cc
#include <gtest/gtest.h>

#include "base/einsum_equation.h"
#include "base/window_attributes.h"

namespace intarsia {
namespace {

/// Returns the labels of the terms and of the result: "ij,jk->ik", with the axes of an ellipsis as digits.
std::string labels_of(const std::string& equation, const std::vector<size_t>& ranks) {
  const Result<EinsumEquation> parsed = parse_einsum(equation, ranks);
  if (!parsed) return parsed.error().message;
  std::string text;
  const auto print = [&](const EinsumLabels& labels) {
    for (int label : labels) text += static_cast<char>(label < 0 ? '0' - label : label);
  };
  for (const EinsumLabels& term : parsed->terms) {
    if (!text.empty()) text += ",";
    print(term);
  }
  text += "->";
  print(parsed->result);
  return text;
}

TEST(EinsumEquation, HasAResultOfItsOwnOrImplied) {
  EXPECT_EQ(labels_of("ij, jk -> ik", {2, 2}), "ij,jk->ik");
  EXPECT_EQ(labels_of("ij,jk", {2, 2}), "ij,jk->ik");
  EXPECT_EQ(labels_of("ii", {2}), "ii->");
  EXPECT_EQ(labels_of("...ij,...jk->...ik", {4, 3}), "21ij,1jk->21ik");
  EXPECT_EQ(labels_of("ba", {2}), "ba->ab") << "letters in ASCII order";
}

TEST(EinsumEquation, Errors) {
  EXPECT_EQ(labels_of("ij,jk->ik", {2}), "'ij,jk->ik' does not have the 1 terms of the inputs");
  EXPECT_EQ(labels_of("ij->i", {3}), "the term 'ij' for an input of rank 3");
  EXPECT_EQ(labels_of("i1->i", {2}), "'1' in the term 'i1'");
  EXPECT_EQ(labels_of("ij->k", {2}), "'ij->k': a label of the result is not in any term");
  EXPECT_EQ(labels_of("ij->ii", {2}), "'ij->ii' repeats a label of the result");
}

TEST(WindowAttributes, DefaultsAndErrors) {
  const WindowAttributes plain = *window_attributes({}, 2);
  EXPECT_EQ(plain.strides, (Shape{1, 1}));
  EXPECT_EQ(plain.pads, (Shape{0, 0, 0, 0}));
  EXPECT_TRUE(plain.is_padded_as_given());
  const auto message = [](const std::string& name, AttributeValue value) {
    Attributes attributes;
    attributes.set(name, std::move(value));
    return window_attributes(attributes, 2).error().message;
  };
  EXPECT_EQ(message("strides", std::vector<int64_t>{1}), "strides has 1 numbers, want 2");
  EXPECT_EQ(message("pads", std::vector<int64_t>{0, 0, -1, 0}), "pads has the number -1, want 0 or more");
  EXPECT_EQ(message("dilations", std::vector<int64_t>{1, most_in_window + 1}),
            "dilations has the number 1073741825, want 1 or more");
  EXPECT_EQ(message("auto_pad", std::string("SAME")),
            "auto_pad is 'SAME', want NOTSET, VALID, SAME_UPPER or SAME_LOWER");
}

}  // namespace
}  // namespace intarsia
