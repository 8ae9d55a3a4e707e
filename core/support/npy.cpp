#include "core/support/npy.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace tenon {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::array<std::pair<std::string_view, DType>, 12> types{{{"<f4", DType::f32},
                                                                    {"<f8", DType::f64},
                                                                    {"<f2", DType::f16},
                                                                    {"|i1", DType::i8},
                                                                    {"<i2", DType::i16},
                                                                    {"<i4", DType::i32},
                                                                    {"<i8", DType::i64},
                                                                    {"|u1", DType::u8},
                                                                    {"<u2", DType::u16},
                                                                    {"<u4", DType::u32},
                                                                    {"<u8", DType::u64},
                                                                    {"|b1", DType::boolean}}};

// The header is a Python dict with three known keys. The text after `key`: and before the next
// comma outside brackets.
std::string_view field(std::string_view header, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "':";
  auto at = header.find(quoted);
  if (at == header.npos) return {};
  std::string_view rest = header.substr(at + quoted.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const auto end = rest.starts_with('(') ? rest.find(')') + 1 : rest.find_first_of(",}");
  return rest.substr(0, end == 0 ? rest.size() : end);
}

bool read_shape(std::string_view s, Shape& shape) {
  if (s.size() < 2 || s.front() != '(' || s.back() != ')') return false;
  s = s.substr(1, s.size() - 2);
  while (!s.empty()) {
    std::int64_t n = 0;
    auto [p, ec] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (ec != std::errc() || n < 0) return false;
    shape.push_back(n);
    s.remove_prefix(static_cast<std::size_t>(p - s.data()));
    s.remove_prefix(std::min(s.find_first_not_of(", "), s.size()));
  }
  return true;
}

std::string remedy_of_type(std::string_view descr) {
  if (descr.starts_with('>'))
    return "save x.astype(x.dtype.newbyteorder('<')): big-endian is not read";
  if (descr.find('O') != descr.npos)
    return "save numbers, x.astype('float32'): objects are not read";
  return "save x.astype(T) with T one of float16, float32, float64, int8 to int64, uint8 to "
         "uint64, bool";
}

}  // namespace

Result<Tensor> tensor_from_npy(std::string_view bytes, std::string_view file) {
  const auto refuse = [&](std::string what,
                          std::string fix = "write the array again with numpy.save") {
    return Diag{.code = 8101,
                .loc = {std::string(file), 0, 0},
                .what = std::move(what),
                .fix = std::move(fix)};
  };
  if (bytes.size() < 10 || !bytes.starts_with(magic)) return refuse("not a .npy file");
  const auto major = static_cast<unsigned char>(bytes[6]);
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  if (major < 1 || major > 3 || (major > 1 && bytes.size() < 12))
    return refuse(fmt::format(".npy version {} is not read", major));
  const std::size_t start = major == 1 ? 10 : 12;
  const std::size_t length =
      byte(8) | byte(9) << 8 | (major == 1 ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > bytes.size() - start) return refuse("the header is cut short");
  const std::string_view header = bytes.substr(start, length);
  std::string_view descr = field(header, "descr");
  if (descr.size() >= 2) descr = descr.substr(1, descr.size() - 2);
  Tensor t;
  bool known = false;
  for (const auto& [name, type] : types)
    if (descr == name) {
      t.type.dtype = type;
      known = true;
    }
  if (!known)
    return refuse(fmt::format("element type '{}' is not read", descr), remedy_of_type(descr));
  if (field(header, "fortran_order") != "False")
    return refuse("the array is in Fortran order", "save numpy.ascontiguousarray(x)");
  Shape shape;
  if (!read_shape(field(header, "shape"), shape)) return refuse("the shape cannot be read");
  t.type = TensorType(t.type.dtype, shape);
  const auto need = byte_size(t.type);
  const std::size_t have = bytes.size() - start - length;
  if (!need)
    return refuse(fmt::format("the shape {} has more than 2^63 - 1 bytes", to_string(t.type)));
  if (*need != have)
    return refuse(fmt::format("holds {} bytes of data, its shape {} needs {}", have,
                              to_string(t.type), *need));
  t.bytes.resize(have);
  std::memcpy(t.bytes.data(), bytes.data() + start + length, have);
  return t;
}

Result<std::string> npy_from_tensor(const Tensor& t) {
  std::string_view descr;
  for (const auto& [name, type] : types)
    if (t.type.dtype == type) descr = name;
  if (descr.empty())
    return Diag{.code = 8102,
                .loc = {},
                .what = fmt::format("{} has no spelling in .npy", name(t.type.dtype)),
                .fix = "cast the output"};
  std::string shape;
  for (std::int64_t d : t.type.shape()) shape += std::to_string(d) + ", ";
  if (t.type.rank() > 1) shape.resize(shape.size() - 2);
  if (t.type.rank() == 1) shape.pop_back();
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  const std::size_t total = (10 + header.size() + 1 + 63) / 64 * 64;
  header.append(total - 10 - header.size() - 1, ' ');
  header += '\n';
  std::string out(magic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size());
  return out;
}

}  // namespace tenon
