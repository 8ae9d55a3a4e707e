#include "image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tenon::aot_executor {

Result<std::vector<std::byte>> image_of(const ExecProgram& p, std::uint32_t i) {
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

std::string literal(const std::vector<std::byte>& bytes) {
  constexpr std::size_t per_line = 64;
  std::string out;
  out.reserve(bytes.size() * 3 + bytes.size() / 16 + 8);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % per_line == 0) out += i ? "\"\n    \"" : "\"";
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (c >= 32 && c < 127 && c != '"' && c != '\\' && c != '?') {  // ? begins trigraphs
      out += static_cast<char>(c);
      continue;
    }
    // An octal escape takes up to three digits: fewer will do when no digit follows.
    const bool last = i + 1 == bytes.size() || (i + 1) % per_line == 0;
    const auto next = last ? 0 : static_cast<unsigned char>(bytes[i + 1]);
    const bool whole = (next >= '0' && next <= '9');
    out += '\\';
    if (whole || c >= 64) out += static_cast<char>('0' + (c >> 6));
    if (whole || c >= 8) out += static_cast<char>('0' + ((c >> 3) & 7));
    out += static_cast<char>('0' + (c & 7));
  }
  return out.empty() ? "\"\"" : out + "\"";
}

}  // namespace tenon::aot_executor
