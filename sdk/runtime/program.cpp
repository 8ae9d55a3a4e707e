#include "program.h"

#include <array>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>

#include "error.h"

namespace tenon::runtime {
namespace {

using Json = nlohmann::json;

constexpr unsigned max_nesting = 64;

struct DTypeRow {
  std::string_view name;
  tn_dtype id;
  unsigned bits;
};
constexpr DTypeRow dtypes[] = {{"f32", TN_F32, 32},   {"f64", TN_F64, 64}, {"f16", TN_F16, 16},
                               {"bf16", TN_BF16, 16}, {"i8", TN_I8, 8},    {"i16", TN_I16, 16},
                               {"i32", TN_I32, 32},   {"i64", TN_I64, 64}, {"u8", TN_U8, 8},
                               {"u16", TN_U16, 16},   {"u32", TN_U32, 32}, {"u64", TN_U64, 64},
                               {"bool", TN_BOOL, 8},  {"i4", TN_I4, 4},    {"u4", TN_U4, 4}};

/// A value of the file with its path, for messages: `steps[3].args[0]`.
class At {
 public:
  At(const Json& j, std::string path) : j_(&j), path_(std::move(path)) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(TN_RT_PROGRAM,
                "program.json: " + (path_.empty() ? "top level" : path_) + ": " + what);
  }
  At operator[](const char* key) const {
    if (!j_->is_object()) fail("should be an object");
    const auto it = j_->find(key);
    if (it == j_->end()) fail(std::string("`") + key + "` is missing");
    return {*it, path_.empty() ? key : path_ + "." + key};
  }
  bool has(const char* key) const { return j_->is_object() && j_->contains(key); }
  std::vector<At> items() const {
    if (!j_->is_array()) fail("should be a list");
    std::vector<At> out;
    out.reserve(j_->size());
    for (const Json& x : *j_) out.emplace_back(x, path_ + "[" + std::to_string(out.size()) + "]");
    return out;
  }
  std::string text() const {
    if (!j_->is_string()) fail("should be a string");
    auto s = j_->get<std::string>();
    if (s.find('\0') != s.npos) fail("holds a zero byte");
    return s;
  }
  bool yes() const {
    if (!j_->is_boolean()) fail("should be true or false");
    return j_->get<bool>();
  }
  std::uint64_t u64(std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) const {
    if (!j_->is_number_integer() ||
        (j_->is_number_integer() && !j_->is_number_unsigned() && j_->get<std::int64_t>() < 0))
      fail("should be an integer of at least 0");
    const auto v = j_->get<std::uint64_t>();
    if (v > max) fail(std::to_string(v) + " is more than " + std::to_string(max));
    return v;
  }
  std::uint32_t index(std::size_t n) const {
    const std::uint64_t v = u64();
    if (v >= n) fail("number " + std::to_string(v) + "; there are " + std::to_string(n));
    return static_cast<std::uint32_t>(v);
  }
  std::int64_t i64() const {
    return static_cast<std::int64_t>(
        u64(static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())));
  }
  std::uint64_t alignment() const {
    const std::uint64_t v = u64(max_align);
    if (!std::has_single_bit(v)) fail(std::to_string(v) + " is not a power of two");
    return v;
  }
  /// A file beside program.json; nothing that leads elsewhere.
  std::string file_name() const {
    std::string s = text();
    if (s.empty() || s == "." || s == ".." || s.find('/') != s.npos || s.find('\\') != s.npos)
      fail("'" + s + "' is not a plain file name");
    return s;
  }

 private:
  const Json* j_;
  std::string path_;
};

class Reader {
 public:
  explicit Reader(Program& p) : p_(p) {}

  void read(const At& top) {
    p_.model = top["model"].text();
    for (const At& f : top["target"]["features"].items()) p_.features.push_back(f.text());
    for (const At& o : top["objects"].items()) p_.objects.push_back(o.file_name());
    for (const At& x : top["pools"].items()) p_.pools.push_back(pool(x));
    for (const At& x : top["inputs"].items()) p_.inputs.push_back(tensor(x));
    for (const At& x : top["outputs"].items()) p_.outputs.push_back(tensor(x));
    for (const At& x : top["constants"].items()) p_.constants.push_back(range(x));
    for (const At& x : top["kernels"].items()) p_.kernels.push_back(kernel(x));
    if (!p_.kernels.empty() && p_.objects.empty())
      top["objects"].fail("there are kernels, and no object that holds them");
    steps(top["steps"], 0);
  }

 private:
  Pool pool(const At& x) {
    Pool p{.id = x["id"].text(), .bytes = x["bytes"].u64(), .align = x["align"].alignment()};
    const std::string kind = x["kind"].text();
    if (kind == "data")
      p.kind = PoolKind::data;
    else if (kind == "constants")
      p.kind = PoolKind::constants;
    else if (kind == "worker")
      p.kind = PoolKind::worker;
    else
      x["kind"].fail("'" + kind + "' is none of data, constants, worker");
    if (x.has("image")) p.image = x["image"].file_name();
    if (p.kind == PoolKind::constants && p.bytes > 0 && p.image.empty())
      x.fail("a pool of constants without an image");
    if (p.kind == PoolKind::worker && !p.image.empty())
      x["image"].fail("worker scratch has no image");
    return p;
  }

  void inside(const At& x, std::uint64_t offset, std::uint64_t bytes, std::uint64_t whole) {
    if (offset > whole || bytes > whole - offset)
      x.fail(std::to_string(bytes) + " bytes at " + std::to_string(offset) + " pass the end, " +
             std::to_string(whole));
  }

  /// [base, index, offset, bytes].
  Place place(const At& x) {
    const std::vector<At> f = x.items();
    if (f.size() != 4) x.fail("should have four items: base, index, offset, bytes");
    const std::string base = f[0].text();
    Place p{.offset = f[2].u64(), .bytes = f[3].u64()};
    std::uint64_t whole = 0;
    if (base == "pool") {
      p.base = Base::pool;
      p.index = f[1].index(p_.pools.size());
      const Pool& pool = p_.pools[p.index];
      if (pool.kind == PoolKind::worker) f[1].fail("pool '" + pool.id + "' is worker scratch");
      whole = pool.bytes;
    } else if (base == "input" || base == "output") {
      p.base = base == "input" ? Base::input : Base::output;
      const auto& list = p.base == Base::input ? p_.inputs : p_.outputs;
      p.index = f[1].index(list.size());
      const Tensor& t = list[p.index];
      if (t.planned) f[1].fail(base + " '" + t.name + "' stands in a pool");
      whole = t.bytes;
    } else {
      f[0].fail("'" + base + "' is none of pool, input, output");
    }
    inside(x, p.offset, p.bytes, whole);
    return p;
  }

  Tensor tensor(const At& x) {
    Tensor t{.name = x["name"].text(), .bytes = x["bytes"].u64(), .align = x["align"].alignment()};
    const std::string type = x["dtype"].text();
    const DTypeRow* row = nullptr;
    for (const DTypeRow& r : dtypes)
      if (r.name == type) row = &r;
    if (!row) x["dtype"].fail("unknown type '" + type + "'");
    t.dtype = row->id;
    std::uint64_t all = row->bits;
    for (const At& d : x["dims"].items()) {
      t.dims.push_back(d.i64());
      if (__builtin_mul_overflow(all, static_cast<std::uint64_t>(t.dims.back()), &all))
        d.fail("the size passes 64 bits");
    }
    const std::uint64_t bytes = all / 8 + (all % 8 != 0);
    if (bytes != t.bytes)
      x["bytes"].fail("is " + std::to_string(t.bytes) + "; the shape takes " +
                      std::to_string(bytes));
    if (x.has("place")) {
      t.place = place(x["place"]);
      if (t.place.base != Base::pool) x["place"].fail("should be a pool");
      if (t.place.bytes != t.bytes)
        x["place"].fail("holds " + std::to_string(t.place.bytes) + " bytes of " +
                        std::to_string(t.bytes));
      t.planned = true;
    }
    if (x.has("state")) {
      if (!t.planned) x["state"].fail("is for what stands in a pool");
      t.state = x["state"].yes();
    }
    return t;
  }

  ImageRange range(const At& x) {
    const std::vector<At> f = x.items();
    if (f.size() != 3) x.fail("should have three items: pool, offset, bytes");
    const ImageRange r{f[0].index(p_.pools.size()), f[1].u64(), f[2].u64()};
    inside(x, r.offset, r.bytes, p_.pools[r.pool].bytes);
    if (p_.pools[r.pool].image.empty() && r.bytes > 0)
      x.fail("pool '" + p_.pools[r.pool].id + "' has no image");
    return r;
  }

  Kernel kernel(const At& x) {
    Kernel k{.symbol = x["symbol"].text(),
             .extent = x["extent"].i64(),
             .grain = x["grain"].i64(),
             .work = x["work"].u64()};
    for (const At& bytes : x["args"].items()) k.args.push_back(bytes.u64());
    k.n_inputs = static_cast<std::uint32_t>(x["inputs"].u64(k.args.size()));
    if (k.grain < 1) x["grain"].fail("is less than 1");
    if (!x.has("worker")) return k;
    const std::vector<At> f = x["worker"].items();
    if (f.size() != 3) x["worker"].fail("should have three items: pool, offset, bytes");
    k.worker_pool = f[0].index(p_.pools.size());
    k.worker_offset = f[1].u64();
    k.worker_bytes = f[2].u64();
    const Pool& pool = p_.pools[k.worker_pool];
    if (pool.kind != PoolKind::worker) f[0].fail("pool '" + pool.id + "' is no worker scratch");
    inside(x["worker"], k.worker_offset, k.worker_bytes, pool.bytes);
    return k;
  }

  void steps(const At& list, unsigned depth) {
    if (depth > max_nesting) list.fail("branches and loops nest deeper than 64");
    for (const At& x : list.items()) step(x, depth);
  }

  void step(const At& x, unsigned depth) {
    Step s{.name = x["name"].text()};
    for (const At& a : x["args"].items()) s.args.push_back(place(a));
    if (x.has("values"))
      for (const At& v : x["values"].items())
        s.values.push_back(static_cast<std::uint32_t>(v.u64(UINT32_MAX)));
    const std::string kind = x["kind"].text();
    const auto expect = [&](std::size_t n) {
      if (s.args.size() != n) x["args"].fail(count(s.args.size(), n));
    };
    if (kind == "call") {
      s.kind = StepKind::call;
      s.kernel = x["kernel"].index(p_.kernels.size());
      call(x, s, p_.kernels[s.kernel]);
      ids(x, s, p_.kernels[s.kernel].worker_bytes > 0 ? 1 : 0);
      p_.steps.push_back(std::move(s));
    } else if (kind == "copy") {
      s.kind = StepKind::copy;
      expect(2);
      if (s.args[0].bytes != s.args[1].bytes)
        x["args"].fail("copies " + std::to_string(s.args[0].bytes) + " bytes to " +
                       std::to_string(s.args[1].bytes));
      writable(x, s.args[1]);
      ids(x, s, 0);
      p_.steps.push_back(std::move(s));
    } else if (kind == "branch") {
      s.kind = StepKind::branch;
      expect(1);
      if (s.args[0].bytes != 1) x["args"].fail("a condition is one byte");
      ids(x, s, 0);
      branch(x, std::move(s), depth);
    } else if (kind == "loop") {
      s.kind = StepKind::loop;
      loop(x, std::move(s), depth);
    } else {
      x["kind"].fail("'" + kind + "' is none of call, copy, branch, loop");
    }
  }

  /// Arguments: count, number of the iteration, then for each carried value what it is at first,
  /// itself, and what the body makes of it.
  void loop(const At& x, Step s, unsigned depth) {
    if (s.args.size() < 2 || (s.args.size() - 2) % 3 != 0)
      x["args"].fail("has " + std::to_string(s.args.size()) + " places instead of 2 + 3 * n");
    if (s.args[0].bytes != 8 || s.args[1].bytes != 8)
      x["args"].fail("the count and the number of the iteration are 8 bytes each");
    writable(x, s.args[1]);
    for (std::size_t j = 2; j < s.args.size(); j += 3) {
      if (s.args[j].bytes != s.args[j + 1].bytes || s.args[j].bytes != s.args[j + 2].bytes)
        x["args"].items()[j].fail("a carried value has one size");
      writable(x, s.args[j + 1]);
    }
    ids(x, s, 0);
    const std::size_t at = p_.steps.size();
    Step turn{.kind = StepKind::turn, .args = s.args};
    p_.steps.push_back(std::move(s));
    steps(x["body"], depth + 1);
    turn.target = static_cast<std::uint32_t>(at + 1);
    p_.steps.push_back(std::move(turn));
    p_.steps[at].target = next();
  }

  /// The kernel trusts what it gets: every argument has the bytes that it was compiled for.
  void call(const At& x, const Step& s, const Kernel& k) {
    if (s.args.size() != k.args.size()) x["args"].fail(count(s.args.size(), k.args.size()));
    for (std::size_t a = 0; a < s.args.size(); ++a) {
      if (s.args[a].bytes != k.args[a])
        x["args"].items()[a].fail("has " + std::to_string(s.args[a].bytes) + " bytes; kernel '" +
                                  k.symbol + "' was compiled for " + std::to_string(k.args[a]));
      if (a >= k.n_inputs) writable(x, s.args[a]);
    }
  }

  /// One id for each argument, and one for the worker scratch.
  static void ids(const At& x, const Step& s, std::size_t extra) {
    if (!s.values.empty() && s.values.size() != s.args.size() + extra)
      x["values"].fail(std::to_string(s.values.size()) + " ids of " +
                       std::to_string(s.args.size() + extra) + " arguments");
  }

  static std::string count(std::size_t is, std::size_t should) {
    return std::to_string(is) + " arguments instead of " + std::to_string(should);
  }

  void writable(const At& x, const Place& p) {
    if (p.base == Base::input) x.fail("writes input '" + p_.inputs[p.index].name + "'");
    if (p.base == Base::pool && p_.pools[p.index].kind == PoolKind::constants)
      x.fail("writes pool '" + p_.pools[p.index].id + "', which holds constants");
  }

  void branch(const At& x, Step s, unsigned depth) {
    const std::size_t at = p_.steps.size();
    p_.steps.push_back(std::move(s));
    steps(x["then"], depth + 1);
    const std::size_t jump = p_.steps.size();
    p_.steps.push_back(Step{.kind = StepKind::jump});
    p_.steps[at].target = next();
    steps(x["else"], depth + 1);
    p_.steps[jump].target = next();
  }
  std::uint32_t next() const { return static_cast<std::uint32_t>(p_.steps.size()); }

  Program& p_;
};

}  // namespace

std::string_view dtype_name(tn_dtype t) {
  for (const DTypeRow& r : dtypes)
    if (r.id == t) return r.name;
  return "?";
}

unsigned dtype_bits(tn_dtype t) {
  for (const DTypeRow& r : dtypes)
    if (r.id == t) return r.bits;
  return 0;
}

Program parse_program(std::string text) {
  const Json j = Json::parse(text, nullptr, false);
  if (j.is_discarded()) throw Error(TN_RT_PROGRAM, "program.json: is not JSON, or cut off");
  const At top(j, "");
  const std::uint64_t major = top["format"]["major"].u64();
  if (major != format_major)
    throw Error(TN_RT_VERSION,
                "program.json has format " + std::to_string(major) + "; this runtime reads " +
                    std::to_string(format_major) +
                    (major > format_major ? ": use a newer runtime" : ": compile the model again"));
  Program p;
  Reader(p).read(top);
  p.text = std::move(text);
  return p;
}

}  // namespace tenon::runtime
