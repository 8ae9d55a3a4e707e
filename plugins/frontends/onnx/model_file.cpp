#include "plugins/frontends/onnx/model_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <sys/mman.h>
#include <unistd.h>

#include <charconv>
#include <climits>
#include <cstring>

namespace tenon::onnx_import {
namespace fs = std::filesystem;
namespace {

Diag tensor_error(const onnx::TensorProto& t, const Loc& loc, std::string what,
                  std::string fix = "export the model again") {
  return Diag{.code = 7010,
              .loc = loc,
              .what = fmt::format("tensor '{}': {}", t.name(), what),
              .fix = std::move(fix)};
}

Result<TensorType> type_of(const onnx::TensorProto& t, const Loc& loc) {
  auto dtype = dtype_of_onnx(t.data_type());
  if (!dtype)
    return tensor_error(t, loc, fmt::format("element type {} is not supported", t.data_type()),
                        "convert the tensor to a numeric type");
  Shape shape;
  for (std::int64_t d : t.dims()) {
    if (d < 0) return tensor_error(t, loc, fmt::format("negative dimension {}", d));
    shape.push_back(d);
  }
  TensorType type(*dtype, shape);
  if (!byte_size(type))
    return tensor_error(t, loc, "its dimensions multiply to more than 2^63 - 1 bytes");
  return type;
}

// The typed repeated fields keep one element per entry, narrow ones widened to 32 bits.
template <class Stored, class Field>
std::vector<std::byte> narrow(const Field& field) {
  std::vector<std::byte> out(static_cast<std::size_t>(field.size()) * sizeof(Stored));
  std::size_t at = 0;
  for (auto v : field) {
    const Stored s = static_cast<Stored>(v);
    std::memcpy(out.data() + at, &s, sizeof s);
    at += sizeof s;
  }
  return out;
}

std::vector<std::byte> typed_bytes(const onnx::TensorProto& t, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return narrow<float>(t.float_data());
    case DType::f64:
      return narrow<double>(t.double_data());
    case DType::i64:
      return narrow<std::int64_t>(t.int64_data());
    case DType::u32:
      return narrow<std::uint32_t>(t.uint64_data());
    case DType::u64:
      return narrow<std::uint64_t>(t.uint64_data());
    case DType::i32:
      return narrow<std::int32_t>(t.int32_data());
    case DType::i16:
      return narrow<std::int16_t>(t.int32_data());
    case DType::i8:
      return narrow<std::int8_t>(t.int32_data());
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return narrow<std::uint16_t>(t.int32_data());
    case DType::u8:
      return narrow<std::uint8_t>(t.int32_data());
    case DType::boolean:
      return narrow<std::uint8_t>(t.int32_data());
    case DType::i4:
    case DType::u4:
      return {};
  }
  return {};
}

struct External {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

Result<External> external_of(const onnx::TensorProto& t, const Loc& loc) {
  External e;
  for (const auto& kv : t.external_data()) {
    if (kv.key() == "location") e.location = kv.value();
    if (kv.key() != "offset" && kv.key() != "length") continue;
    std::uint64_t n = 0;
    const char* end = kv.value().data() + kv.value().size();
    auto [p, ec] = std::from_chars(kv.value().data(), end, n);
    if (ec != std::errc() || p != end)
      return tensor_error(
          t, loc,
          fmt::format("external data: {} '{}' is not a number of bytes", kv.key(), kv.value()));
    if (kv.key() == "offset")
      e.offset = n;
    else
      e.length = n;
  }
  if (e.location.empty()) return tensor_error(t, loc, "external data without a location");
  return e;
}

// The file must lie in the model's folder, also after links are followed.
Result<fs::path> external_path(const onnx::TensorProto& t, const External& e,
                               const fs::path& folder, const Loc& loc) {
  std::error_code ec;
  const fs::path root = fs::weakly_canonical(folder.empty() ? fs::path(".") : folder, ec);
  const fs::path full = fs::weakly_canonical(root / e.location, ec);
  const auto [r, f] = std::mismatch(root.begin(), root.end(), full.begin(), full.end());
  if (fs::path(e.location).is_absolute() || r != root.end() || f == full.end())
    return tensor_error(t, loc,
                        fmt::format("external data '{}' leaves the model's folder", e.location),
                        "put the file beside the model and name it relative to it");
  if (!fs::is_regular_file(full, ec))
    return tensor_error(t, loc, fmt::format("external data file '{}' is missing", e.location),
                        "put it beside the model");
  return full;
}

/// A part of a file, which has it, read-only; nothing when it cannot be read. The file is trusted
/// not to change while it is compiled.
std::optional<FileData> map_file(const fs::path& path, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return FileData{};
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t before = offset % page;
  const std::size_t length = before + bytes;
  void* at = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd,
                    static_cast<off_t>(offset - before));
  ::close(fd);
  if (at == MAP_FAILED) return std::nullopt;
  return FileData{{static_cast<const std::byte*>(at) + before, bytes},
                  std::shared_ptr<const void>(at, [length](void* p) { ::munmap(p, length); })};
}

Result<FileData> external_data(const onnx::TensorProto& t, std::uint64_t need,
                               const fs::path& folder, const Loc& loc) {
  auto e = external_of(t, loc);
  if (!e) return e.errors();
  auto path = external_path(t, *e, folder, loc);
  if (!path) return path.errors();
  if (e->length && *e->length != need)
    return tensor_error(
        t, loc,
        fmt::format("external data has length {}, its type needs {} bytes", *e->length, need));
  std::error_code ec;
  const std::uint64_t size = fs::file_size(*path, ec);
  const auto end = checked_add(e->offset, need);
  if (ec || !end || *end > size)
    return tensor_error(
        t, loc,
        fmt::format("external data '{}' has {} bytes, bytes [{}, {} + {}) are needed", e->location,
                    size, e->offset, e->offset, need));
  auto data = map_file(*path, e->offset, need);
  if (!data)
    return tensor_error(t, loc, fmt::format("external data '{}' cannot be read", e->location));
  return *std::move(data);
}

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

/// Walks the fields of a message. `field(number, content)` sees what has a length, and says whether
/// it has taken it over; everything else goes to `rest` as it stands. False when these are no
/// fields.
template <class Field>
bool split(std::span<const std::byte> message, std::string& rest, Field field) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(message.data());
  CodedInputStream in(begin, static_cast<int>(message.size()));
  for (;;) {
    const int start = in.CurrentPosition();
    const std::uint32_t tag = in.ReadTag();
    if (tag == 0) return start == static_cast<int>(message.size());
    if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      std::uint32_t length = 0;
      if (!in.ReadVarint32(&length) || length > INT_MAX) return false;
      const int at = in.CurrentPosition();
      if (!in.Skip(static_cast<int>(length))) return false;
      if (field(WireFormatLite::GetTagFieldNumber(tag),
                message.subspan(static_cast<std::size_t>(at), length)))
        continue;
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      return false;
    }
    rest.append(reinterpret_cast<const char*>(begin) + start,
                static_cast<std::size_t>(in.CurrentPosition() - start));
  }
}

void put_message(std::string& out, int number, const std::string& content) {
  google::protobuf::io::StringOutputStream to(&out);
  google::protobuf::io::CodedOutputStream coded(&to);
  coded.WriteTag(WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  coded.WriteVarint32(static_cast<std::uint32_t>(content.size()));
  coded.WriteString(content);
}

/// The model in `file` without the data of its large initializers, which `weights` names instead;
/// nothing where it is not laid out as exporters do: then it is parsed as a whole.
std::optional<std::string> without_weights(const FileData& file, std::vector<FileData>& weights) {
  constexpr std::size_t large = 4096;
  if (file.bytes.size() > INT_MAX) return std::nullopt;
  bool good = true;
  int graphs = 0;
  std::string model;
  const auto tensor = [&](std::span<const std::byte> bytes, std::string& graph) {
    FileData& data = weights.emplace_back();
    std::string rest;
    const bool fields = split(bytes, rest, [&](int number, std::span<const std::byte> content) {
      if (number != onnx::TensorProto::kRawDataFieldNumber || content.size() < large) return false;
      good = good && !data.file;
      data = {content, file.file};
      return true;
    });
    good = good && fields;
    put_message(graph, onnx::GraphProto::kInitializerFieldNumber, rest);
    return true;
  };
  const bool fields = split(file.bytes, model, [&](int number, std::span<const std::byte> content) {
    if (number != onnx::ModelProto::kGraphFieldNumber) return false;
    std::string graph;
    const bool inner = split(content, graph, [&](int n, std::span<const std::byte> t) {
      return n == onnx::GraphProto::kInitializerFieldNumber && tensor(t, graph);
    });
    good = good && inner && ++graphs == 1;
    put_message(model, onnx::ModelProto::kGraphFieldNumber, graph);
    return true;
  });
  if (!good || !fields) return std::nullopt;
  return model;
}

}  // namespace

std::optional<DType> dtype_of_onnx(int data_type) {
  switch (data_type) {
    case onnx::TensorProto::FLOAT:
      return DType::f32;
    case onnx::TensorProto::DOUBLE:
      return DType::f64;
    case onnx::TensorProto::FLOAT16:
      return DType::f16;
    case onnx::TensorProto::BFLOAT16:
      return DType::bf16;
    case onnx::TensorProto::INT8:
      return DType::i8;
    case onnx::TensorProto::INT16:
      return DType::i16;
    case onnx::TensorProto::INT32:
      return DType::i32;
    case onnx::TensorProto::INT64:
      return DType::i64;
    case onnx::TensorProto::UINT8:
      return DType::u8;
    case onnx::TensorProto::UINT16:
      return DType::u16;
    case onnx::TensorProto::UINT32:
      return DType::u32;
    case onnx::TensorProto::UINT64:
      return DType::u64;
    case onnx::TensorProto::BOOL:
      return DType::boolean;
    default:
      return std::nullopt;
  }
}

Result<ModelFile> read_model(const fs::path& path) {
  const Loc loc{path.string(), 0, 0};
  std::error_code ec;
  if (fs::is_directory(path, ec))
    return Diag{.code = 7001,
                .loc = loc,
                .what = "is a folder, a model is a file",
                .fix = "name the .onnx file in it"};
  if (!fs::exists(path, ec))
    return Diag{
        .code = 7001, .loc = loc, .what = "no such file", .fix = "check the path of the model"};
  if (!fs::is_regular_file(path, ec))
    return Diag{.code = 7001,
                .loc = loc,
                .what = "is not a regular file",
                .fix = "check the path of the model"};
  const std::uint64_t size = fs::file_size(path, ec);
  const auto file = ec ? std::nullopt : map_file(path, 0, size);
  if (!file)
    return Diag{.code = 7001,
                .loc = loc,
                .what = "cannot be opened for reading",
                .fix = "check its permissions"};
  ModelFile out;
  const auto small = without_weights(*file, out.weights);
  const std::span<const std::byte> message = small ? std::as_bytes(std::span(*small)) : file->bytes;
  if (!small) out.weights.clear();
  if (message.size() > INT_MAX ||
      !out.model.ParseFromArray(message.data(), static_cast<int>(message.size())))
    return Diag{
        .code = 7002,
        .loc = loc,
        .what = fmt::format("not an ONNX model, or cut short ({} bytes)", file->bytes.size()),
        .fix = "export or download it again"};
  const onnx::GraphProto& graph = out.model.graph();
  if (!out.model.has_graph() || graph.node_size() + graph.output_size() == 0)
    return Diag{.code = 7002,
                .loc = loc,
                .what = "parses as ONNX but holds no graph",
                .fix = "export or download it again"};
  out.weights.resize(static_cast<std::size_t>(graph.initializer_size()));
  return out;
}

Result<Constant> constant_of_proto(const onnx::TensorProto& t, const fs::path& folder,
                                   const Loc& loc, const FileData& own) {
  auto type = type_of(t, loc);
  if (!type) return type.errors();
  const std::uint64_t need = *byte_size(*type);
  if (t.has_segment())
    return tensor_error(t, loc, "is stored in segments, which no known exporter writes");
  FileData data = own;
  std::vector<std::byte> bytes;
  if (t.data_location() == onnx::TensorProto::EXTERNAL) {
    auto d = external_data(t, need, folder, loc);
    if (!d) return d.errors();
    data = std::move(*d);  // of 0 bytes: in no file
  } else if (!data.file && t.has_raw_data()) {
    const auto* p = reinterpret_cast<const std::byte*>(t.raw_data().data());
    bytes.assign(p, p + t.raw_data().size());
  } else if (!data.file) {
    bytes = typed_bytes(t, type->dtype);
  }
  const std::uint64_t has = data.file ? data.bytes.size() : bytes.size();
  if (has != need)
    return tensor_error(
        t, loc, fmt::format("holds {} bytes, its type {} needs {}", has, to_string(*type), need));
  if (type->dtype != DType::boolean && data.file)
    return make_constant(std::move(*type), data.bytes, std::move(data.file));
  if (data.file) bytes.assign(data.bytes.begin(), data.bytes.end());
  if (type->dtype == DType::boolean)
    for (std::byte& b : bytes) b = std::byte(b != std::byte{0});
  return make_constant(std::move(*type), std::move(bytes));
}

}  // namespace tenon::onnx_import
