// Generators of Halide as a user writes them, in a library for `intarsia compile --functions`.
#include <Halide.h>

namespace {

using namespace Halide;

class AddOne : public Generator<AddOne> {
 public:
  Input<Buffer<float, 1>> a{"a"};
  Output<Buffer<float, 1>> b{"b"};
  void generate() {
    Var x("x");
    b(x) = a(x) + 1.0f;
  }
};

/// Means of 3 x 3 elements, in two stages.
class Blur : public Generator<Blur> {
 public:
  GeneratorParam<int> tile{"tile", 32, 8, 256};
  Input<Buffer<float, 2>> image{"image"};
  Output<Buffer<float, 2>> blurred{"blurred"};
  void generate() {
    Func rows("rows");
    Var x("x"), y("y"), xi("xi"), yi("yi");
    rows(x, y) = (image(x, y) + image(x + 1, y) + image(x + 2, y)) / 3.0f;
    blurred(x, y) = (rows(x, y) + rows(x, y + 1) + rows(x, y + 2)) / 3.0f;
    image.set_estimates({{0, 302}, {0, 202}});
    blurred.set_estimates({{0, 300}, {0, 200}});
    if (using_autoscheduler()) return;
    blurred.tile(x, y, xi, yi, tile, 8, TailStrategy::GuardWithIf).parallel(y);
    rows.compute_at(blurred, x);
  }
};

/// The sum and the greatest of all elements of a row, in two outputs.
class Totals : public Generator<Totals> {
 public:
  Input<Buffer<int32_t, 2>> a{"a"};
  Output<Buffer<int32_t, 1>> sum{"sum"};
  Output<Buffer<int32_t, 1>> most{"most"};
  void generate() {
    Var y("y");
    RDom r(0, a.dim(0).extent());
    sum(y) = 0;
    sum(y) += a(r, y);
    most(y) = Int(32).min();
    most(y) = max(most(y), a(r, y));
  }
};

class Scale : public Generator<Scale> {
 public:
  Input<Buffer<uint8_t, 1>> a{"a"};
  Input<float> factor{"factor", 2.0f, 0.0f, 10.0f};
  Output<Buffer<uint8_t, 1>> b{"b"};
  void generate() {
    Var x("x");
    b(x) = saturating_cast<uint8_t>(a(x) * factor);
  }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(AddOne, addone)
HALIDE_REGISTER_GENERATOR(Blur, blur)
HALIDE_REGISTER_GENERATOR(Totals, totals)
HALIDE_REGISTER_GENERATOR(Scale, scale)
