#include "core/eval/lanes.h"

#include "core/eval/kernels.h"

namespace tenon::eval {

namespace {
/// Shorter runs cost more to start than to gather.
constexpr std::int64_t min_run = 8;
}  // namespace

LaneMap::LaneMap(const std::vector<std::int64_t>& extents,
                 const std::vector<std::int64_t>& coeffs) {
  for (std::size_t k = 0; k < extents.size(); ++k) {
    if (extents[k] == 1) continue;
    if (!extents_.empty() && coeffs_.back() == coeffs[k] * extents[k]) {
      extents_.back() *= extents[k];
      coeffs_.back() = coeffs[k];
    } else {
      extents_.push_back(extents[k]);
      coeffs_.push_back(coeffs[k]);
    }
  }
  if (extents_.empty()) {
    extents_.push_back(1);
    coeffs_.push_back(0);
  }
  stride_ = coeffs_.back();
}

void LaneMap::place(std::int64_t first, std::size_t count) {
  runs_.clear();
  offsets_.clear();
  count_ = count;
  std::vector<std::int64_t> at(extents_.size());
  std::int64_t offset = 0;
  for (std::size_t k = extents_.size(); k-- > 0;) {
    at[k] = first % extents_[k];
    first /= extents_[k];
    offset += at[k] * coeffs_[k];
  }
  const std::int64_t inner = extents_.back();
  const bool by_run = inner >= min_run || extents_.size() == 1;
  for (std::size_t lane = 0; lane < count;) {
    const auto n = std::min(count - lane, static_cast<std::size_t>(inner - at.back()));
    if (by_run) {
      runs_.push_back({lane, n, offset});
    } else {
      for (std::size_t i = 0; i < n; ++i)
        offsets_.push_back(offset + static_cast<std::int64_t>(i) * stride_);
    }
    lane += n;
    // To the start of the next row: carry through the outer axes.
    offset -= at.back() * stride_;
    at.back() = 0;
    for (std::size_t k = extents_.size() - 1; k-- > 0;) {
      offset += coeffs_[k];
      if (++at[k] < extents_[k]) break;
      offset -= extents_[k] * coeffs_[k];
      at[k] = 0;
    }
  }
}

void LaneMap::copy(std::size_t width, std::byte* out, const std::byte* in) const {
  const auto w = static_cast<std::int64_t>(width);
  if (!offsets_.empty()) return copy_gather(width, out, in, offsets_.data(), count_);
  for (const Run& r : runs_)
    copy_strided(width, out + r.lane * width, in + r.offset * w, stride_, r.count);
}

std::vector<std::int64_t> LaneMap::offsets() const {
  if (!offsets_.empty()) return offsets_;
  std::vector<std::int64_t> all(count_);
  for (const Run& r : runs_)
    for (std::size_t i = 0; i < r.count; ++i)
      all[r.lane + i] = r.offset + static_cast<std::int64_t>(i) * stride_;
  return all;
}

}  // namespace tenon::eval
