#include "core/cli/difference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tenon::cli {
namespace {

template <class T>
Difference difference_as(const Tensor& got, const Tensor& want, double rtol, double atol) {
  Difference d;
  double num = 0, den = 0;
  const auto g = got.as<T>(), w = want.as<T>();
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double a = static_cast<double>(g[i]), b = static_cast<double>(w[i]);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) {
      den += b * b;
      continue;
    }
    const double e = std::fabs(a - b);
    d.max_abs = std::isnan(e) ? INFINITY : std::max(d.max_abs, e);
    d.max_rel =
        std::isnan(e) ? INFINITY : std::max(d.max_rel, b == 0 ? INFINITY : e / std::fabs(b));
    d.outside += !(e <= atol + rtol * std::fabs(b));
    num += e * e;
    den += b * b;
  }
  d.rel_l2 = num == 0 ? 0 : den == 0 ? INFINITY : std::sqrt(num / den);
  return d;
}

}  // namespace

Difference difference(const Tensor& got, const Tensor& want, double rtol, double atol) {
  if (!(got.type == want.type)) return {.comparable = false};
  switch (want.type.dtype) {
    case DType::f32:
      return difference_as<float>(got, want, rtol, atol);
    case DType::f64:
      return difference_as<double>(got, want, rtol, atol);
    case DType::i64:
      return difference_as<std::int64_t>(got, want, rtol, atol);
    case DType::i32:
      return difference_as<std::int32_t>(got, want, rtol, atol);
    case DType::i8:
      return difference_as<std::int8_t>(got, want, rtol, atol);
    case DType::u8:
    case DType::boolean:
      return difference_as<std::uint8_t>(got, want, rtol, atol);
    default: {
      Difference d;
      d.outside = got.bytes == want.bytes ? 0 : 1;
      return d;
    }
  }
}

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "tenon-XXXXXX").string();
  if (mkdtemp(name.data())) path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ec;
  if (!path_.empty()) std::filesystem::remove_all(path_, ec);
}

}  // namespace tenon::cli
