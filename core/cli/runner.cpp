#include "core/cli/runner.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <random>

#include "core/cli/cli.h"
#include "core/support/files.h"
#include "core/support/machine.h"
#include "core/support/npy.h"

namespace tenon::cli {
namespace {

std::string remedy_of(int code) {
  switch (code) {
    case TN_RT_FILE:
      return "name the folder that `tenon compile -o` wrote, with all its files";
    case TN_RT_PROGRAM:
    case TN_RT_OBJECT:
    case TN_RT_DAMAGED:
      return "copy the whole artefact again, or compile again";
    case TN_RT_VERSION:
      return "run it with the tenon that compiled it, or compile again";
    case TN_RT_CPU:
      return "compile for this CPU, see the target's options";
    case TN_RT_MEMORY:
      return "free memory, ask for fewer threads, or compile smaller shapes";
    case TN_RT_TENSOR:
      return "give data of that type and shape, or compile with --shape";
    case TN_RT_KERNEL:
    case TN_RT_OVERRUN:
      return "this is a bug of Tenon: report it with the model and the pipeline";
    default:
      return "see the page of the code";
  }
}

Diag runtime_error(int code, const std::string& folder) {
  return Diag{.code = code, .loc = {folder, 0, 0}, .what = tn_last_error(), .fix = remedy_of(code)};
}

TensorType type_of(const tn_tensor_info& i) {
  return TensorType(static_cast<DType>(i.dtype),
                    Shape(i.dims, i.dims + i.rank));  // tn_dtype has the order of DType
}

/// A folder that holds C source instead of a program.
std::optional<Diag> source_in(const std::string& folder) {
  const auto header = DiskFiles().read(join_path(folder, "model.h"));
  if (!header || !DiskFiles().read(join_path(folder, "model.c"))) return std::nullopt;
  return ahead_of_time(*header, folder);
}

template <class Count, class Info>
std::vector<NamedType> describe(const tn_model* m, Count count, Info info) {
  std::vector<NamedType> out;
  for (std::uint32_t i = 0; i < count(m); ++i) {
    tn_tensor_info t{};
    t.struct_size = sizeof t;
    if (info(m, i, &t) == 0) out.push_back({t.name, type_of(t), t.state != 0});
  }
  return out;
}

std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  return checked_add(a, b).value_or(UINT64_MAX);
}

/// The system would map more than it has, and kill the process when it is used.
Status check_memory(const tn_model* m, std::uint32_t threads, const std::string& folder) {
  std::uint64_t need = 0;
  for (std::uint32_t i = 0; i < tn_model_pools(m); ++i) {
    tn_pool_info p{};
    p.struct_size = sizeof p;
    if (tn_model_pool(m, i, &p) != 0) continue;
    const bool per_worker = std::string_view(p.kind) == "worker";
    need = plus(need,
                checked_mul(p.bytes, per_worker ? std::max(1u, threads) : 1u).value_or(UINT64_MAX));
  }
  const auto add_caller_owned = [&](auto count, auto info) {
    for (std::uint32_t i = 0; i < count(m); ++i) {
      tn_tensor_info t{};
      t.struct_size = sizeof t;
      if (info(m, i, &t) == 0 && !t.planned) need = plus(need, t.bytes);
    }
  };
  add_caller_owned(tn_model_inputs, tn_model_input);
  add_caller_owned(tn_model_outputs, tn_model_output);
  if (need <= memory_of_machine()) return {};
  return Diag{.code = 8107,
              .loc = {folder, 0, 0},
              .what = fmt::format("running it takes {} bytes (pools, inputs and outputs), this "
                                  "machine has {}",
                                  need, memory_of_machine()),
              .fix = "compile smaller shapes, or use a machine with more memory"};
}

struct Fill {
  enum class Kind { uniform, randint, constant } kind = Kind::uniform;
  double a = -1, b = 1;
};

bool number(std::string_view s, double& v) {
  auto [p, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
  return ec == std::errc() && p == s.data() + s.size();
}

std::optional<Fill> fill_of(DType t, std::string_view text) {
  if (text.empty()) {
    if (is_float(t)) return Fill{Fill::Kind::uniform, -1, 1};
    return Fill{Fill::Kind::randint, 0, t == DType::boolean ? 2.0 : 10.0};
  }
  const auto c1 = text.find(':');
  const std::string_view kind = text.substr(0, c1);
  if (c1 == text.npos) return std::nullopt;
  const std::string_view rest = text.substr(c1 + 1);
  Fill f;
  if (kind == "const") {
    f.kind = Fill::Kind::constant;
    return number(rest, f.a) ? std::optional(f) : std::nullopt;
  }
  const auto c2 = rest.find(':');
  if (c2 == rest.npos || !number(rest.substr(0, c2), f.a) || !number(rest.substr(c2 + 1), f.b) ||
      !(f.b - f.a >= 0 && f.b - f.a < 0x1p62) || (kind == "randint" && f.a == f.b))
    return std::nullopt;
  if (kind == "uniform")
    f.kind = Fill::Kind::uniform;
  else if (kind == "randint")
    f.kind = Fill::Kind::randint;
  else
    return std::nullopt;
  return f;
}

/// Every value of the fill converts to `t`. What is drawn is below `b`, a constant is `a`.
bool fits(DType t, const Fill& f) {
  if (is_float(t)) return true;
  const double span = std::ldexp(1.0, static_cast<int>(t == DType::boolean ? 1 : bits(t)));
  const double low = is_signed(t) ? -span / 2 : 0, end = low + span;  // of the type
  if (f.kind == Fill::Kind::constant) return f.a > low - 1 && f.a < end;
  return f.a > low - 1 && f.b <= end;
}

// The draw is spelled out, so that every standard library gives the same bytes.
double draw(std::mt19937_64& r, const Fill& f) {
  const double u = static_cast<double>(r() >> 11) * 0x1p-53;
  switch (f.kind) {
    case Fill::Kind::constant:
      return f.a;
    case Fill::Kind::uniform:
      return std::max(f.a, std::min(f.a + u * (f.b - f.a), std::nextafter(f.b, f.a)));
    case Fill::Kind::randint:
      return f.a + static_cast<double>(static_cast<std::int64_t>(u * (f.b - f.a)));
  }
  return 0;
}

template <class T>
void put(Tensor& t, std::mt19937_64& r, const Fill& f) {
  for (T& x : t.as<T>()) x = static_cast<T>(draw(r, f));
}

std::uint16_t half_of(float x) {
  const _Float16 h = static_cast<_Float16>(x);
  std::uint16_t bits = 0;
  std::memcpy(&bits, &h, sizeof bits);
  return bits;
}

}  // namespace

std::optional<Diag> ahead_of_time(std::string_view header, const std::string& folder) {
  constexpr std::string_view before = "\nint32_t ";
  const auto at = header.find(before), end = header.find('(', at);
  if (at == header.npos || end == header.npos) return std::nullopt;
  const std::string_view entry = header.substr(at + before.size(), end - at - before.size());
  return Diag{.code = 8108,
              .loc = {folder, 0, 0},
              .what = fmt::format("this is a model compiled ahead of time: C source (model.c, "
                                  "model.h) whose entry is {}(), not a program for the runtime",
                                  entry),
              .fix = fmt::format("build it with a C compiler, `cc -std=c11 -O2 -c {}`, and call "
                                 "{}() from a program of yours, see sdk/docs/firmware.md; to run "
                                 "the model here, compile it with `-p graph-cpu`",
                                 join_path(folder, "model.c"), entry)};
}

Result<Runner> Runner::open(const std::string& folder, std::uint32_t threads, std::uint32_t flags) {
  Runner r;
  tn_model* m = nullptr;
  if (int e = tn_model_load(folder.c_str(), &m)) {
    Diag failure = runtime_error(e, folder);
    return e == TN_RT_FILE ? source_in(folder).value_or(failure) : failure;
  }
  r.model_.reset(m, tn_model_free);
  if (Status s = check_memory(m, threads, folder); !s) return s.errors();
  tn_context_options options{sizeof(tn_context_options), threads, flags};
  tn_context* c = nullptr;
  if (int e = tn_context_create(m, &options, &c)) return runtime_error(e, folder);
  r.context_.reset(c, tn_context_free);
  r.inputs_ = describe(m, tn_model_inputs, tn_model_input);
  r.outputs_ = describe(m, tn_model_outputs, tn_model_output);
  return r;
}

Status Runner::set(const std::vector<Tensor>& inputs) {
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    const Shape dims = inputs[i].type.shape();
    if (int e = tn_set_input(context_.get(), i, static_cast<tn_dtype>(inputs[i].type.dtype),
                             static_cast<std::uint32_t>(dims.size()), dims.data(),
                             inputs[i].bytes.data()))
      return runtime_error(e, tn_model_name(model_.get()));
  }
  held_ = inputs;
  return {};
}

Status Runner::run() {
  for (std::uint32_t i = 0; i < held_.size(); ++i) {
    tn_tensor_info t{};
    t.struct_size = sizeof t;
    if (tn_model_input(model_.get(), i, &t) != 0 || !t.planned) continue;
    if (int e = tn_set_input(context_.get(), i, t.dtype, t.rank, t.dims, held_[i].bytes.data()))
      return runtime_error(e, "");
  }
  if (int e = tn_run(context_.get())) return runtime_error(e, tn_model_name(model_.get()));
  return {};
}

Status Runner::verify() const {
  if (int e = tn_model_verify(model_.get())) return runtime_error(e, "");
  return {};
}

Result<std::vector<Tensor>> Runner::results() const {
  std::vector<Tensor> out;
  for (std::uint32_t i = 0; i < outputs_.size(); ++i) {
    const void* p = nullptr;
    if (int e = tn_output(context_.get(), i, &p))
      return runtime_error(e, tn_model_name(model_.get()));
    const auto* b = static_cast<const std::byte*>(p);
    const std::uint64_t n = byte_size(outputs_[i].type).value_or(0);
    out.push_back(
        {outputs_[i].type, n ? std::vector<std::byte>(b, b + n) : std::vector<std::byte>()});
  }
  return out;
}

std::vector<StepInfo> Runner::steps() const {
  std::vector<StepInfo> out;
  for (std::uint32_t i = 0; i < tn_model_steps(model_.get()); ++i) {
    tn_step_info s{};
    s.struct_size = sizeof s;
    if (tn_model_step(model_.get(), i, &s) == 0) out.push_back({s.name, s.kind, s.kernel, s.work});
  }
  return out;
}

std::vector<std::uint64_t> Runner::step_times() const {
  const std::uint64_t* ns = nullptr;
  std::uint32_t n = 0;
  if (tn_step_times(context_.get(), &ns, &n) != 0) return {};
  return {ns, ns + n};
}

Result<Tensor> filled(const TensorType& type, const std::string& fill, std::uint64_t seed) {
  const auto f = fill_of(type.dtype, fill);
  if (!f)
    return Diag{.code = 8103,
                .loc = {},
                .what = fmt::format("'{}' is no fill", fill),
                .fix = "write uniform:LO:HI, randint:LO:HI with LO below HI, or const:V"};
  if (!fits(type.dtype, *f))
    return Diag{
        .code = 8103,
        .loc = {},
        .what = fmt::format("fill '{}' has values that {} cannot hold", fill, name(type.dtype)),
        .fix = "give a narrower range"};
  Tensor t{type, {}};
  const std::uint64_t bytes = byte_size(type).value_or(UINT64_MAX);
  try {
    t.bytes.resize(bytes);
  } catch (const std::exception&) {  // bad_alloc, length_error
    return Diag{
        .code = 8107,
        .loc = {},
        .what = fmt::format("no memory for an input of {} bytes, {}", bytes, to_string(type)),
        .fix = "compile smaller shapes, or use a machine with more memory"};
  }
  std::mt19937_64 r(seed);
  switch (type.dtype) {
    case DType::f32:
      put<float>(t, r, *f);
      break;
    case DType::f64:
      put<double>(t, r, *f);
      break;
    case DType::f16:
      for (auto& x : t.as<std::uint16_t>()) x = half_of(static_cast<float>(draw(r, *f)));
      break;
    case DType::bf16:
      for (auto& x : t.as<std::uint16_t>())
        x = static_cast<std::uint16_t>(
            std::bit_cast<std::uint32_t>(static_cast<float>(draw(r, *f))) >> 16);
      break;
    case DType::i8:
      put<std::int8_t>(t, r, *f);
      break;
    case DType::i16:
      put<std::int16_t>(t, r, *f);
      break;
    case DType::i32:
      put<std::int32_t>(t, r, *f);
      break;
    case DType::i64:
      put<std::int64_t>(t, r, *f);
      break;
    case DType::u8:
    case DType::boolean:
      put<std::uint8_t>(t, r, *f);
      break;
    case DType::u16:
      put<std::uint16_t>(t, r, *f);
      break;
    case DType::u32:
      put<std::uint32_t>(t, r, *f);
      break;
    case DType::u64:
      put<std::uint64_t>(t, r, *f);
      break;
    case DType::i4:
    case DType::u4:
      for (auto& x : t.as<std::uint8_t>())
        x = static_cast<std::uint8_t>((static_cast<int>(draw(r, *f)) & 15) |
                                      (static_cast<int>(draw(r, *f)) & 15) << 4);
      break;
  }
  return t;
}

Result<std::map<std::string, std::string>> input_files(const std::vector<std::string>& items,
                                                       const std::vector<NamedType>& inputs) {
  if (items.size() == 1 && inputs.size() == 1 && items[0].find('=') == std::string::npos)
    return std::map<std::string, std::string>{{inputs[0].name, items[0]}};
  return name_values(items, "--input");
}

Result<std::vector<Tensor>> make_inputs(const std::vector<NamedType>& inputs,
                                        const std::map<std::string, std::string>& files,
                                        const std::map<std::string, std::string>& fills,
                                        std::uint64_t seed) {
  Diags errors;
  std::string known;
  for (const NamedType& i : inputs) known += " " + i.name;
  for (const auto* map : {&files, &fills})
    for (const auto& [name, v] : *map)
      if (std::none_of(inputs.begin(), inputs.end(),
                       [&](const NamedType& i) { return i.name == name; }))
        errors.push_back(Diag{.code = 8104,
                              .loc = {},
                              .what = fmt::format("the model has no input '{}'", name),
                              .fix = "its inputs are:" + known});
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto file = files.find(inputs[i].name);
    auto fill = fills.find(inputs[i].name);
    Result<Tensor> t = [&]() -> Result<Tensor> {
      const std::string made = inputs[i].state ? "const:0" : "";
      if (file == files.end())
        return filled(inputs[i].type, fill == fills.end() ? made : fill->second, seed + i);
      auto bytes = DiskFiles().read(file->second);
      if (!bytes) return bytes.errors();
      return tensor_from_npy(*bytes, file->second);
    }();
    if (!t)
      errors.insert(errors.end(), t.errors().begin(), t.errors().end());
    else
      out.push_back(std::move(*t));
  }
  if (!errors.empty()) return errors;
  return out;
}

}  // namespace tenon::cli
