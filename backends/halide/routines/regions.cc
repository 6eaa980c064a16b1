// Regions of images in a grid of bins: means or maxima of samples between elements (He and others, "Mask
// R-CNN", 2017), and maxima of elements (Girshick, "Fast R-CNN", 2015). Each call computes the regions that
// its output has, with all channels; a region's samples are found once for all of them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/halide/routines/routine.h"

namespace intarsia::halide::routines {
namespace {

constexpr int failed = -1;

/// Image [channels, rows, columns] of a batch.
struct Image {
  const float* begin;
  int channels, rows, columns;
  int64_t channel, row, column;  // distances of neighbors
};

Image image_of(const HalideBuffer& batch, int64_t number) {
  const HalideDimension* dim = batch.dim;
  return {first<const float>(batch) + number * dim[0].stride,
          dim[1].extent,
          dim[2].extent,
          dim[3].extent,
          dim[1].stride,
          dim[2].stride,
          dim[3].stride};
}

/// Output [channels, rows, columns] of one region.
struct Bins {
  float* begin;
  int rows, columns;
  int64_t channel, row, column;
};

Bins bins_of(const HalideBuffer& output, int region) {
  const HalideDimension* dim = output.dim;
  return {first<float>(output) + int64_t{region} * dim[0].stride,
          dim[2].extent,
          dim[3].extent,
          dim[1].stride,
          dim[2].stride,
          dim[3].stride};
}

/// Axis of a region: samples lie at start + bin * step + (i + 0.5) * step / samples.
struct RoiAxis {
  double start = 0, step = 0;
  int64_t samples = 0;

  double place(int bin, int64_t i) const {
    return start + bin * step + (static_cast<double>(i) + 0.5) * step / static_cast<double>(samples);
  }

  /// Sets the range of samples of a bin that may be inside an axis of `size` elements: a region may be much
  /// larger.
  void near(int bin, int size, int64_t& from, int64_t& to) const {
    from = 0, to = samples;
    if (!(step > 0)) return;
    const double apart = step / static_cast<double>(samples), most = static_cast<double>(samples);
    from = static_cast<int64_t>(std::clamp((-1 - place(bin, 0)) / apart - 1, 0.0, most));
    to = static_cast<int64_t>(std::clamp((size - place(bin, 0)) / apart + 2, 0.0, most));
  }
};

/// Elements beside a place, and the weight of the second.
struct Sides {
  int64_t low = 0, high = 0;
  float part = 0;
  bool inside = false;
};

Sides sides_of(double at, int size) {
  if (!(at >= -1 && at <= size)) return {};
  at = std::max(at, 0.0);
  const auto low = static_cast<int64_t>(at);
  if (low >= size - 1) return {size - 1, size - 1, 0, true};
  return {low, low + 1, static_cast<float>(at - static_cast<double>(low)), true};
}

/// Elements of an axis that the samples of a bin are between, each once, and the weight of each in their
/// mean.
struct Tap {
  int64_t at;
  float weight;
};

/// Taps of all bins along an axis.
class Taps {
 public:
  Taps(void* context, const RoiAxis& axis, int bins, int size)
      : axis_(axis),
        bins_(bins),
        size_(size),
        taps_(context, static_cast<size_t>(bins * std::min<int64_t>(2 * axis.samples, size)) + 1),
        ends_(context, static_cast<size_t>(bins)) {}

  bool has_room() const { return taps_.get() != nullptr && ends_.get() != nullptr; }

  void find() {
    Tap* end = taps_.get();
    for (int bin = 0; bin < bins_; ++bin) {
      Tap* const begin = end;
      int64_t from, to;
      axis_.near(bin, size_, from, to);
      for (int64_t i = from; i < to; ++i) {
        const Sides sides = sides_of(axis_.place(bin, i), size_);
        if (!sides.inside) continue;
        end = add(begin, end, sides.low, 1 - sides.part);
        if (sides.high != sides.low) end = add(begin, end, sides.high, sides.part);
      }
      ends_.get()[bin] = end - taps_.get();
    }
    for (const Tap* tap = taps_.get(); tap != end; ++tap) {
      first_ = std::min(first_, tap->at);
      last_ = std::max(last_, tap->at);
    }
  }

  const Tap* begin(int bin) const { return taps_.get() + (bin == 0 ? 0 : ends_.get()[bin - 1]); }
  const Tap* end(int bin) const { return taps_.get() + ends_.get()[bin]; }
  /// Returns the least element of all bins, and the number of elements from there to the greatest.
  int64_t first() const { return first_; }
  int64_t extent() const { return std::max<int64_t>(last_ - first_ + 1, 0); }

 private:
  Tap* add(Tap* begin, Tap* end, int64_t at, float weight) const {
    weight /= static_cast<float>(axis_.samples);
    for (Tap* tap = end; tap != begin;)
      if ((--tap)->at == at) {
        tap->weight += weight;
        return end;
      }
    *end = {at, weight};
    return end + 1;
  }

  const RoiAxis& axis_;
  const int bins_, size_;
  Room<Tap> taps_;
  Room<int64_t> ends_;
  int64_t first_ = std::numeric_limits<int64_t>::max() / 2, last_ = -1;
};

/// Adds weight * row to sums, of so many columns.
void add_row(float* sums, const float* row, int64_t column, int64_t columns, float weight) {
  if (column == 1)
    for (int64_t i = 0; i < columns; ++i) sums[i] += weight * row[i];
  else
    for (int64_t i = 0; i < columns; ++i) sums[i] += weight * row[i * column];
}

/// Computes the means of a region's bins: the weights of samples are products of those of rows and of
/// columns, so that each row of bins first is one row of elements.
void pool_means(const Image& image, const Taps& rows, const Taps& columns, float* sums, const Bins& bins) {
  const int64_t extent = columns.extent();
  for (int c = 0; c < image.channels; ++c) {
    const float* const plane = image.begin + c * image.channel + columns.first() * image.column;
    for (int i = 0; i < bins.rows; ++i) {
      std::fill_n(sums, extent, 0.0F);
      for (const Tap* tap = rows.begin(i); tap != rows.end(i); ++tap)
        add_row(sums, plane + tap->at * image.row, image.column, extent, tap->weight);
      for (int j = 0; j < bins.columns; ++j) {
        float mean = 0;
        for (const Tap* tap = columns.begin(j); tap != columns.end(j); ++tap)
          mean += tap->weight * sums[tap->at - columns.first()];
        bins.begin[c * bins.channel + i * bins.row + j * bins.column] = mean;
      }
    }
  }
}

/// Samples of a bin: offsets of the four elements around each, and their weights.
struct Samples {
  static constexpr int most = 64;
  int64_t offsets[most][4];
  float weights[most][4];
  int count = 0;

  void add(const Image& image, const Sides& v, const Sides& h) {
    const int64_t top = v.low * image.row, bottom = v.high * image.row, left = h.low * image.column,
                  right = h.high * image.column;
    const int64_t at[4] = {top + left, top + right, bottom + left, bottom + right};
    const float of[4] = {(1 - v.part) * (1 - h.part), (1 - v.part) * h.part, v.part * (1 - h.part),
                         v.part * h.part};
    std::copy_n(at, 4, offsets[count]);
    std::copy_n(of, 4, weights[count]);
    ++count;
  }
};

/// Takes the greatest weighted element of samples and of a bin of each channel.
void take_greatest(const Samples& samples, const Image& image, float* bin, int64_t next_channel) {
  for (int c = 0; c < image.channels; ++c) {
    const float* plane = image.begin + c * image.channel;
    float& to = bin[c * next_channel];
    for (int s = 0; s < samples.count; ++s) {
      const int64_t* at = samples.offsets[s];
      const float* of = samples.weights[s];
      float term[4];
      for (int k = 0; k < 4; ++k) term[k] = of[k] * plane[at[k]];
      to = std::max({to, term[0], term[1], term[2], term[3]});
    }
  }
}

void pool_maximum(const Image& image, const RoiAxis axes[2], const int bin[2], const Bins& bins) {
  float* to = bins.begin + bin[0] * bins.row + bin[1] * bins.column;
  for (int c = 0; c < image.channels; ++c) to[c * bins.channel] = -std::numeric_limits<float>::infinity();
  int64_t top, bottom, left, right, seen = 0;
  axes[0].near(bin[0], image.rows, top, bottom);
  axes[1].near(bin[1], image.columns, left, right);
  Samples samples;
  for (int64_t i = top; i < bottom; ++i) {
    const Sides v = sides_of(axes[0].place(bin[0], i), image.rows);
    for (int64_t j = left; v.inside && j < right; ++j) {
      const Sides h = sides_of(axes[1].place(bin[1], j), image.columns);
      if (!h.inside) continue;
      ++seen;
      samples.add(image, v, h);
      if (samples.count < Samples::most) continue;
      take_greatest(samples, image, to, bins.channel);
      samples.count = 0;
    }
  }
  take_greatest(samples, image, to, bins.channel);
  // Samples outside are zeros.
  const int64_t all = axes[0].samples * axes[1].samples;
  if (seen < all || all == 0)
    for (int c = 0; c < image.channels; ++c) to[c * bins.channel] = std::max(to[c * bins.channel], 0.0F);
}

struct RoiRule {
  int sampling;
  float scale;
  bool half_pixel, maximum;
};

/// Returns false if the region is too far away.
bool find_axis(const RoiRule& rule, double start, double end, int bins, RoiAxis& axis) {
  const double shift = rule.half_pixel ? 0.5 : 0.0;
  axis.start = start * rule.scale - shift;
  double size = end * rule.scale - shift - axis.start;
  if (!rule.half_pixel) size = std::max(size, 1.0);
  axis.step = size / bins;
  if (!(std::abs(axis.start) < 1e9 && std::abs(axis.step) < 1e6)) return false;
  axis.samples =
      rule.sampling > 0 ? rule.sampling : std::max<int64_t>(0, static_cast<int64_t>(std::ceil(axis.step)));
  return true;
}

/// Range of elements of a bin, within an axis.
struct BinRange {
  int start, end;
};

BinRange range_of(int bin, int bins, double start, double size, int limit) {
  const double step = size / bins;
  const double low = start + std::floor(bin * step), high = start + std::ceil((bin + 1) * step);
  return {static_cast<int>(std::clamp<double>(low, 0, limit)),
          static_cast<int>(std::clamp<double>(high, 0, limit))};
}

void find_maxima(const Image& image, const double corner[4], const Bins& bins) {
  const double height = std::max(corner[3] - corner[1] + 1, 1.0),
               width = std::max(corner[2] - corner[0] + 1, 1.0);
  for (int i = 0; i < bins.rows; ++i) {
    const BinRange rows = range_of(i, bins.rows, corner[1], height, image.rows);
    for (int j = 0; j < bins.columns; ++j) {
      const BinRange columns = range_of(j, bins.columns, corner[0], width, image.columns);
      const bool is_empty = rows.start >= rows.end || columns.start >= columns.end;
      for (int c = 0; c < image.channels; ++c) {
        float best = is_empty ? 0.0f : std::numeric_limits<float>::lowest();
        for (int row = rows.start; row < rows.end; ++row)
          for (int column = columns.start; column < columns.end; ++column)
            best = std::max(best, image.begin[c * image.channel + row * image.row + column * image.column]);
        bins.begin[c * bins.channel + i * bins.row + j * bins.column] = best;
      }
    }
  }
}

}  // namespace

extern "C" {

/// RoiAlign; `images` is checked before the call.
int intarsia_roi_align(void* context, HalideBuffer* batch, HalideBuffer* regions, HalideBuffer* images,
                       int sampling, float scale, int half_pixel, int maximum, HalideBuffer* output) {
  if (is_question(*batch, *output)) return 0;
  const RoiRule rule{sampling, scale, half_pixel != 0, maximum != 0};
  for (int r = 0; r < output->dim[0].extent; ++r) {
    const int64_t region = output->dim[0].min + r;
    const float* corners = first<const float>(*regions) + region * regions->dim[0].stride;  // x1, y1, x2, y2
    const int64_t next = regions->dim[1].stride;
    const int64_t number = first<const int64_t>(*images)[region * images->dim[0].stride];
    const Image image = image_of(*batch, std::clamp<int64_t>(number, 0, batch->dim[0].extent - 1));
    const Bins bins = bins_of(*output, r);
    RoiAxis axes[2];
    if (!find_axis(rule, corners[next], corners[3 * next], bins.rows, axes[0]) ||
        !find_axis(rule, corners[0], corners[2 * next], bins.columns, axes[1])) {
      halide_error(context, "a region is too large or too far away");
      return failed;
    }
    if (!rule.maximum) {
      Taps rows(context, axes[0], bins.rows, image.rows),
          columns(context, axes[1], bins.columns, image.columns);
      const Room<float> sums(context, static_cast<size_t>(image.columns));
      if (!rows.has_room() || !columns.has_room() || sums.get() == nullptr)
        return halide_error_out_of_memory(context);
      rows.find();
      columns.find();
      pool_means(image, rows, columns, sums.get(), bins);
      continue;
    }
    for (int bin[2] = {0, 0}; bin[0] < bins.rows; ++bin[0])
      for (bin[1] = 0; bin[1] < bins.columns; ++bin[1]) pool_maximum(image, axes, bin, bins);
  }
  return 0;
}

/// MaxRoiPool; a region is its image's number and corners x1, y1, x2, y2.
int intarsia_max_roi_pool(void* context, HalideBuffer* batch, HalideBuffer* regions, float scale,
                          HalideBuffer* output) {
  if (is_question(*batch, *output)) return 0;
  for (int r = 0; r < output->dim[0].extent; ++r) {
    const float* region =
        first<const float>(*regions) + int64_t{output->dim[0].min + r} * regions->dim[0].stride;
    const int64_t next = regions->dim[1].stride;
    double corner[4];
    for (int i = 0; i < 4; ++i) {
      corner[i] = std::round(region[(1 + i) * next] * scale);
      if (std::abs(corner[i]) < 1e15) continue;
      halide_error(context, "a region is too large or too far away");
      return failed;
    }
    if (!(region[0] >= 0 && region[0] < static_cast<float>(batch->dim[0].extent))) {
      halide_error(context, "a region is of an image that the batch does not have");
      return failed;
    }
    find_maxima(image_of(*batch, static_cast<int64_t>(region[0])), corner, bins_of(*output, r));
  }
  return 0;
}
}

}  // namespace intarsia::halide::routines
