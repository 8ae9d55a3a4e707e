// The bytes that a pool holds before the first run.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tenon/executor.h"

namespace tenon {

Result<std::vector<std::byte>> constants_image(const ExecProgram& p, std::uint32_t i) {
  const ExecPool& pool = p.pools[i];
  std::vector<std::byte> out(pool.kind == ExecPool::Kind::constants ? pool.bytes : 0);
  for (const ExecConstant& c : p.constants) {
    if (c.pool != i) continue;
    const std::uint64_t n = c.data->bytes.size();
    if (c.offset > pool.bytes || n > pool.bytes - c.offset)
      return Diag{
          .code = 9062,
          .what = fmt::format("a constant of {} bytes at {} passes the {} bytes of pool '{}'", n,
                              c.offset, pool.bytes, pool.id)};
    if (n == 0) continue;
    out.resize(std::max<std::uint64_t>(out.size(), c.offset + n));
    std::memcpy(out.data() + c.offset, c.data->bytes.data(), n);
  }
  return out;
}

}  // namespace tenon
