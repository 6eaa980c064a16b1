#include "backends/halide/emit/glue_object.h"

asm(".section .rodata\n"
    ".hidden intarsia_halide_glue_begin\n"
    ".hidden intarsia_halide_glue_end\n"
    ".globl intarsia_halide_glue_begin\n"
    ".globl intarsia_halide_glue_end\n"
    "intarsia_halide_glue_begin:\n"
    ".incbin \"" INTARSIA_HALIDE_GLUE
    "\"\n"
    "intarsia_halide_glue_end:\n"
    ".previous\n");
extern "C" const char intarsia_halide_glue_begin[], intarsia_halide_glue_end[];

namespace intarsia::halide {

std::string glue_object() { return {intarsia_halide_glue_begin, intarsia_halide_glue_end}; }

}  // namespace intarsia::halide
