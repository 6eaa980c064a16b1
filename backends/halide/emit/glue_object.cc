#include "backends/halide/emit/glue_object.h"

// Puts the bytes of a file between the symbols intarsia_halide_NAME_begin and intarsia_halide_NAME_end.
#define INCLUDE_BYTES(NAME, FILE)     \
  asm(".section .rodata\n"            \
      ".hidden intarsia_halide_" NAME \
      "_begin\n"                      \
      ".hidden intarsia_halide_" NAME \
      "_end\n"                        \
      ".globl intarsia_halide_" NAME  \
      "_begin\n"                      \
      ".globl intarsia_halide_" NAME  \
      "_end\n"                        \
      "intarsia_halide_" NAME         \
      "_begin:\n"                     \
      ".incbin \"" FILE               \
      "\"\n"                          \
      "intarsia_halide_" NAME         \
      "_end:\n"                       \
      ".previous\n")

INCLUDE_BYTES("glue", INTARSIA_HALIDE_GLUE);
INCLUDE_BYTES("error_glue", INTARSIA_HALIDE_ERROR_GLUE);
INCLUDE_BYTES("dot_tiles_32", INTARSIA_HALIDE_DOT_TILES_32);
INCLUDE_BYTES("dot_tiles_64", INTARSIA_HALIDE_DOT_TILES_64);
INCLUDE_BYTES("routines_2", INTARSIA_HALIDE_ROUTINES_2);
INCLUDE_BYTES("routines_3", INTARSIA_HALIDE_ROUTINES_3);
INCLUDE_BYTES("routines_4", INTARSIA_HALIDE_ROUTINES_4);
extern "C" const char intarsia_halide_routines_2_begin[], intarsia_halide_routines_2_end[];
extern "C" const char intarsia_halide_routines_3_begin[], intarsia_halide_routines_3_end[];
extern "C" const char intarsia_halide_routines_4_begin[], intarsia_halide_routines_4_end[];
extern "C" const char intarsia_halide_glue_begin[], intarsia_halide_glue_end[];
extern "C" const char intarsia_halide_error_glue_begin[], intarsia_halide_error_glue_end[];
extern "C" const char intarsia_halide_dot_tiles_32_begin[], intarsia_halide_dot_tiles_32_end[];
extern "C" const char intarsia_halide_dot_tiles_64_begin[], intarsia_halide_dot_tiles_64_end[];

namespace intarsia::halide {

std::string glue_object() { return {intarsia_halide_glue_begin, intarsia_halide_glue_end}; }

std::string error_glue_object() { return {intarsia_halide_error_glue_begin, intarsia_halide_error_glue_end}; }

std::string dot_tiles_object(DotProducts kind) {
  if (kind == DotProducts::avx_vnni)
    return {intarsia_halide_dot_tiles_32_begin, intarsia_halide_dot_tiles_32_end};
  return {intarsia_halide_dot_tiles_64_begin, intarsia_halide_dot_tiles_64_end};
}

std::string routines_object(const std::string& level) {
  if (level == "x86-64-v4") return {intarsia_halide_routines_4_begin, intarsia_halide_routines_4_end};
  if (level == "x86-64-v3") return {intarsia_halide_routines_3_begin, intarsia_halide_routines_3_end};
  return {intarsia_halide_routines_2_begin, intarsia_halide_routines_2_end};
}

}  // namespace intarsia::halide
