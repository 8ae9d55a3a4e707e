// The bytes that a pool holds before the first run.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tenon/executor.h"

namespace tenon {

Result<FileBytes> constants_image(const ExecProgram& p, std::uint32_t i) {
  const ExecPool& pool = p.pools[i];
  std::vector<const ExecConstant*> inside;
  for (const ExecConstant& c : p.constants) {
    if (c.pool != i) continue;
    const std::uint64_t n = c.data->bytes.size();
    if (c.offset > pool.bytes || n > pool.bytes - c.offset)
      return Diag{
          .code = 9062,
          .what = fmt::format("a constant of {} bytes at {} passes the {} bytes of pool '{}'", n,
                              c.offset, pool.bytes, pool.id)};
    if (n > 0) inside.push_back(&c);
  }
  std::ranges::stable_sort(inside, {}, &ExecConstant::offset);
  FileBytes out;
  for (const ExecConstant* c : inside) {
    if (c->offset < out.size())
      return Diag{.code = 9062,
                  .what = fmt::format("a constant at {} of pool '{}' begins before the end of "
                                      "another one at {}",
                                      c->offset, pool.id, out.size())};
    out.extend(c->offset);
    out.add({c->data->bytes, c->data});
  }
  if (pool.kind == ExecPool::Kind::constants) out.extend(pool.bytes);
  return out;
}

}  // namespace tenon
