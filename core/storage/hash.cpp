// The hash of a request: sha256 of an unambiguous text of its canonical form. Strings carry their
// length.
#include <fmt/format.h>

#include <bit>
#include <concepts>

#include "core/storage/request.h"
#include "core/support/sha256.h"

namespace tenon {
namespace {
using namespace std::string_view_literals;

/// Hashed piece by piece: the text of a large request is larger than the request.
class Text {
 public:
  void add(std::string_view s) {
    if (buffer_.size() + s.size() > buffer_.capacity()) flush();
    buffer_ += s;
  }
  Sha256 finish() {
    flush();
    return sha_.finish();
  }

 private:
  void flush() {
    sha_.add(buffer_);
    buffer_.clear();
    buffer_.reserve(std::size_t{1} << 16);
  }
  std::string buffer_;
  Sha256Stream sha_;
};

template <std::unsigned_integral N>
void put(Text& out, N n) {
  const fmt::format_int digits(n);
  out.add({digits.data(), digits.size()});
  out.add(" ");
}
void put(Text& out, std::string_view s) {
  const fmt::format_int size(s.size());
  for (const std::string_view part : {std::string_view(size.data(), size.size()), ":"sv, s, " "sv})
    out.add(part);
}
void put(Text& out, const std::optional<std::uint64_t>& n) { n ? put(out, *n) : out.add("- "); }
// By bits: printing would depend on rounding.
void put(Text& out, double x) { put(out, std::bit_cast<std::uint64_t>(x)); }

void put(Text& out, const StoragePool& p) {
  put(out, p.id);
  put(out, p.capacity);
  put(out, p.granule);
  put(out, p.base);
  put(out, p.access.size());
  for (const auto& [target, access] : p.access) {
    put(out, target);
    put(out, static_cast<std::uint64_t>(access));
  }
  put(out, p.holds.size());
  for (const Holds h : p.holds) put(out, static_cast<std::uint64_t>(h));
  put(out, p.image);
  put(out, p.read_cost);
  put(out, p.write_cost);
}

void put(Text& out, const StorageToken& t) {
  put(out, t.name);
  put(out, t.size);
  put(out, t.align);
  put(out, t.at);
  put(out, t.first);
  put(out, t.end);
  put(out, t.pools.size());
  for (std::size_t k = 0; k < t.pools.size(); ++k) {
    put(out, t.pools[k]);
    put(out, t.cost[k]);
  }
  put(out, t.parts.size());
  for (const TokenPart& p : t.parts)
    for (const std::uint64_t n : {std::uint64_t{p.first}, std::uint64_t{p.end}, p.lo, p.hi})
      put(out, n);
  put(out, t.members.size());
  for (const TokenMember& m : t.members) {
    put(out, m.name);
    for (const std::uint64_t n :
         {std::uint64_t{m.id}, m.offset, m.size, std::uint64_t{m.live.first},
          std::uint64_t{m.live.end}, static_cast<std::uint64_t>(m.role)})
      put(out, n);
  }
}

std::string hash_of_canonical(const StorageRequest& r) {
  Text text;
  text.add("tenon storage request 1\n");
  put(text, r.steps.size());
  put(text, r.pools.size());
  for (const StoragePool& p : r.pools) put(text, p);
  put(text, r.tokens.size());
  for (const StorageToken& t : r.tokens) put(text, t);
  put(text, r.joins.size());
  for (const TokenJoin& j : r.joins)
    for (const std::uint64_t n : {std::uint64_t{j.a}, std::uint64_t{j.b}, j.delta}) put(text, n);
  std::string hex;
  for (const std::uint8_t byte : text.finish()) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace

std::string request_hash(const StorageRequest& r) {
  return is_canonical(r) ? hash_of_canonical(r) : hash_of_canonical(canonical_request(r));
}

}  // namespace tenon
