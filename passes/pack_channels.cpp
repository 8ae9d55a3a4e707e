#include <algorithm>
#include <array>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "passes/constants.h"
#include "passes/quantised.h"
#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"
#include "tenon/target.h"

namespace tenon::passes {
namespace {

struct PackOptions {
  std::int64_t block = 0, boundary = 75;
  bool bytes = false;
  static constexpr auto fields() {
    return std::tuple{Field{"block",
                            &PackOptions::block,
                            "channels per block; 0: as many f32 as a vector of the target holds, "
                            "and nothing where those are fewer than 8",
                            {.min = 0, .max = 64}},
                      Field{"boundary",
                            &PackOptions::boundary,
                            "cost of packing or unpacking an element, in scalar operations at peak",
                            {.min = 0, .max = 1000000}},
                      Field{"bytes", &PackOptions::bytes,
                            "convolutions of dequantised bytes in integers, whether or not the "
                            "target has an instruction for them"}};
  }
};

using Ints = std::vector<std::int64_t>;

std::int64_t blocks_of(std::int64_t channels, std::int64_t block) {
  return (channels + block - 1) / block;
}
double elements_of(const TensorType& t) {
  return static_cast<double>(elements(t).value_or(UINT64_MAX));
}

/// How an op stands to channels in blocks.
enum class Role {
  none,       // stays as it is
  dense,      // a convolution over packed data
  bytes,      // the same of quantised data and weights, by an instruction of the target
  plain,      // a convolution that reads data of few channels as they are
  depthwise,  // a convolution without a mix of channels
  pointwise,
  pool,
  reduce,
  concat,
  pad,
  resize,
};

/// What does not make infinities or NaN of the zeros in channels that only fill a block: those are
/// multiplied by weights that are zero.
constexpr std::array keeps_finite{"add",     "sub",        "mul",         "max",  "min",   "relu",
                                  "clip",    "neg",        "abs",         "cast", "round", "floor",
                                  "sigmoid", "leaky_relu", "hard_swish",  "tanh", "gelu",  "ceil",
                                  "erf",     "identity",   "hard_sigmoid"};
/// What is computed on the way between convolutions that are quantised, and theirs.
constexpr std::array element_types{DType::f32, DType::i32, DType::i8, DType::u8};
bool is_packable(DType t) { return std::ranges::find(element_types, t) != element_types.end(); }

/// Which ops can be over blocks of channels, and what that costs. Costs are in scalar operations of
/// a core that is fully busy.
class Layout {
 public:
  Layout(const Module& m, const Function& f, std::int64_t block, std::int64_t boundary,
         bool multiplies_bytes)
      : ops_(m.ops()),
        quantised_(m.ops()),
        multiplies_bytes_(multiplies_bytes),
        block_(block),
        boundary_(static_cast<double>(boundary)),
        constants_(constants_of(m, f)) {}

  bool is_constant(Value v) const { return constants_.contains(v.id()); }
  const Quantised& quantised() const { return quantised_; }

  Role role(const Node& n) const {
    if (n.results.size() != 1 || is_constant({&n, 0}) || !activation(n.results[0].type))
      return Role::none;
    const OpDef& def = ops_[n.op];
    if (def.name == "conv2d") return convolution(n);
    if (n.operands.empty() || !n.operands[0].type().is_static()) return Role::none;
    if (def.fusion == FusionKind::elementwise || def.fusion == FusionKind::broadcast)
      return pointwise(n) ? Role::pointwise : Role::none;
    if (!activation(n.operands[0].type()) || n.results[0].type.dtype != DType::f32)
      return Role::none;
    const bool same_channels = channels(n.operands[0].type()) == channels(n.results[0].type);
    if (def.name == "max_pool" || def.name == "avg_pool")
      return n.attrs.get<Ints>("kernel")->size() == 2 ? Role::pool : Role::none;
    if (def.name == "reduce_mean" || def.name == "reduce_max" || def.name == "reduce_sum")
      return spatial_axes(*n.attrs.get<Ints>("axes")) && n.attrs.get_or("keepdims", true)
                 ? Role::reduce
                 : Role::none;
    if (def.name == "concat") {
      const auto whole = [&](Value v) { return channels(v.type()) % block_ == 0; };
      const std::int64_t axis = *n.attrs.get<std::int64_t>("axis");
      return (axis == 1 || axis == -3) && std::ranges::all_of(n.operands, whole) ? Role::concat
                                                                                 : Role::none;
    }
    if (def.name == "pad") return same_channels && whole(n) ? Role::pad : Role::none;
    if (def.name == "resize")
      return same_channels && n.attrs.get<std::vector<double>>("roi")->empty() ? Role::resize
                                                                               : Role::none;
    return Role::none;
  }

  /// Cost of `n` as it is, and over blocks.
  struct Costs {
    double as_is = 0, packed = 0;
  };
  Costs costs(const Node& n, Role role) const {
    const TensorType& out = n.results[0].type;
    const double waste = filled(channels(out));
    switch (role) {
      case Role::dense:
      case Role::bytes:
      case Role::plain:
      case Role::depthwise:
        return convolution_costs(n, role);
      case Role::pool: {
        const Ints& kernel = *n.attrs.get<Ints>("kernel");
        const double points = elements_of(out) * static_cast<double>(kernel[0] * kernel[1]);
        return {4 * points, 3 * points * waste};
      }
      default:
        return {8 * elements_of(out), 8 * elements_of(out) * waste};
    }
  }
  /// Of bringing a value into blocks or out of them: an element at a time.
  double boundary(const TensorType& t) const { return boundary_ * elements_of(t); }

  std::int64_t block() const { return block_; }
  static std::int64_t channels(const TensorType& t) { return t.dims[1].value(); }

 private:
  bool activation(const TensorType& t) const {
    if (t.rank() != 4 || !t.is_static() || !is_packable(t.dtype)) return false;
    for (const Dim& d : t.dims)
      if (d.value() == 0) return false;
    return fits(t.dims[1].value());
  }
  /// At most a quarter of the blocks is filling.
  bool fits(std::int64_t channels) const {
    return 3 * blocks_of(channels, block_) * block_ <= 4 * channels;
  }
  double filled(std::int64_t channels) const {
    return static_cast<double>(blocks_of(channels, block_) * block_) /
           static_cast<double>(channels);
  }
  bool whole(const Node& n) const { return channels(n.results[0].type) % block_ == 0; }
  static bool spatial_axes(Ints axes) {
    for (std::int64_t& a : axes) a = a < 0 ? a + 4 : a;
    std::ranges::sort(axes);
    return axes == Ints{2, 3};
  }

  Role convolution(const Node& n) const {
    const TensorType &x = n.operands[0].type(), &w = n.operands[1].type();
    if (!x.is_static() || x.dtype != DType::f32 || !is_constant(n.operands[1]) ||
        (n.operands.size() == 3 && !is_constant(n.operands[2])))
      return Role::none;
    const std::int64_t groups = n.attrs.get_or("groups", std::int64_t{1});
    const std::int64_t in = channels(x), out = w.dims[0].value();
    if (groups == 1 && fits(in)) return multiplies_bytes(n) ? Role::bytes : Role::dense;
    if (groups == 1) return in < block_ ? Role::plain : Role::none;
    if (groups == in && groups == out) return Role::depthwise;
    return in / groups % block_ == 0 && out / groups % block_ == 0 ? Role::dense : Role::none;
  }

  /// Whether data and weights are dequantised bytes, of one scale, and a scale per channel: the
  /// sums are then integers, scaled afterwards.
  bool multiplies_bytes(const Node& n) const {
    if (!multiplies_bytes_ || block_ % 4 != 0) return false;
    const auto x = quantised_.dequantised(n.operands[0]), w = quantised_.dequantised(n.operands[1]);
    if (!x || !w || x->of.q.type().dtype != DType::u8 || w->of.q.type().dtype != DType::i8 ||
        w->of.zero.node || elements(x->scale.type()) != 1 ||
        (x->of.zero.node && elements(x->of.zero.type()) != 1))
      return false;
    const Ints& pads = *n.attrs.get<Ints>("pads");
    const bool padded = std::ranges::any_of(pads, [](std::int64_t p) { return p != 0; });
    if (padded && x->of.zero.node && !quantised_.number(x->of.zero)) return false;
    const Shape scale = w->scale.type().shape();
    return elements(w->scale.type()) == 1 ||
           scale == Shape{w->of.q.type().dims[0].value(), 1, 1, 1};
  }

  bool pointwise(const Node& n) const {
    const Shape out = n.results[0].type.shape();
    if (!whole(n) && !stays_finite(n)) return false;
    return std::ranges::all_of(n.operands, [&](Value v) {
      const TensorType& t = v.type();
      return t.is_static() && t.rank() <= 4 && (is_packable(t.dtype) || is_constant(v));
    });
  }
  bool stays_finite(const Node& n) const {
    const std::string& name = ops_[n.op].name;
    if (std::ranges::find(keeps_finite, name) != keeps_finite.end()) return true;
    const auto divisor = name == "div" ? number_of(n.operands[1]) : std::nullopt;
    return divisor && std::isnormal(*divisor);
  }

  Costs convolution_costs(const Node& n, Role role) const {
    const Shape out = n.results[0].type.shape(), w = n.operands[1].type().shape();
    const Ints& strides = *n.attrs.get<Ints>("strides");
    const bool strided = std::ranges::any_of(strides, [](std::int64_t s) { return s != 1; });
    const bool point = w[2] == 1 && w[3] == 1;
    const double flop =
        2 * elements_of(n.results[0].type) * static_cast<double>(w[1] * w[2] * w[3]);
    // As it is, vectors run along rows, or over the whole image where that is the same.
    const double run = static_cast<double>(point && !strided ? out[2] * out[3] : out[3]);
    const double used =
        run / static_cast<double>(blocks_of(static_cast<std::int64_t>(run), block_) * block_);
    const double waste = filled(out[1]);
    // Parts of a core's peak that kernels reach.
    if (role == Role::depthwise)
      return {flop / (used * (strided ? 0.2 : 0.42)), flop * waste / (strided ? 0.33 : 0.7)};
    if (role == Role::plain) return {flop / (used * 0.62), flop * waste / 0.75};
    const double rate = point ? (strided ? 0.6 : 0.93) : strided ? 0.65 : 0.8;
    const double peak = role == Role::bytes ? 3 : 0.94;
    return {flop / (used * rate), flop * waste * filled(channels(n.operands[0].type())) / peak};
  }

  const OpTable& ops_;
  Quantised quantised_;
  bool multiplies_bytes_;
  std::int64_t block_;
  double boundary_;
  std::unordered_set<ValueId> constants_;
};

/// The cheapest choice of ops over blocks: an s-t cut. Vertices on the side of the source are over
/// blocks; a value that is wanted both ways is packed or unpacked once, whatever the number of its
/// users.
class Cut {
 public:
  Cut() : source_(add()), sink_(add()) {}
  std::size_t add() { return boost::add_vertex(graph_); }
  void choice(std::size_t v, double as_is, double packed) {
    edge(source_, v, as_is);
    edge(v, sink_, packed);
  }
  /// Costs `c` when `from` is over blocks and `to` is not.
  void edge(std::size_t from, std::size_t to, double c) {
    const auto there = boost::add_edge(from, to, graph_).first;
    const auto back = boost::add_edge(to, from, graph_).first;
    graph_[there].capacity = c;
    graph_[there].reverse = back;
    graph_[back].reverse = there;
  }
  std::size_t sink() const { return sink_; }
  static constexpr double never = 1e30;

  void solve() {
    boost::boykov_kolmogorov_max_flow(
        graph_, boost::get(&Edge::capacity, graph_), boost::get(&Edge::residual, graph_),
        boost::get(&Edge::reverse, graph_), boost::get(&Vertex::predecessor, graph_),
        boost::get(&Vertex::colour, graph_), boost::get(&Vertex::distance, graph_),
        boost::get(boost::vertex_index, graph_), source_, sink_);
  }
  bool packed(std::size_t v) const { return graph_[v].colour == boost::black_color; }

 private:
  using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  struct Vertex {
    Traits::edge_descriptor predecessor;
    boost::default_color_type colour = boost::white_color;
    long distance = 0;
  };
  struct Edge {
    double capacity = 0, residual = 0;
    Traits::edge_descriptor reverse;
  };
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Vertex, Edge> graph_;
  std::size_t source_, sink_;
};

/// Results of ops that are better over blocks, with their roles.
std::unordered_map<ValueId, Role> choose(const Function& f, const Layout& layout) {
  struct Packable {
    const Node* node;
    Role role;
    std::size_t vertex;
  };
  Cut cut;
  std::vector<Packable> packable;
  std::unordered_map<const Node*, std::size_t> index;  // of packable
  bool gains = false;
  for (const Node* n : f.body.nodes) {
    const Role role = layout.role(*n);
    if (role == Role::none) continue;
    const auto costs = layout.costs(*n, role);
    gains |= costs.packed < costs.as_is;
    packable.push_back({n, role, cut.add()});
    index[n] = packable.size() - 1;
    cut.choice(packable.back().vertex, costs.as_is, costs.packed);
  }
  if (!gains) return {};

  const auto found = [&](const Node* n) {
    const auto it = index.find(n);
    return it == index.end() ? nullptr : &packable[it->second];
  };

  // Values at which the two sides meet, in the order of the body: the same cut every time.
  const Uses uses(f);
  std::unordered_set<Value, ValueHash> seen;
  std::vector<Value> values;
  const auto meet = [&](Value v) {
    if (!layout.is_constant(v) && seen.insert(v).second) values.push_back(v);
  };
  for (const Packable& p : packable) {
    for (Value v : p.node->operands) meet(v);
    meet({p.node, 0});
  }
  for (Value v : values) {
    std::vector<std::size_t> users;  // that would read blocks
    bool as_is = false;              // wanted by somebody else
    for (const Uses::Use& u : uses.of(v)) {
      const Packable* user = found(u.user);
      if (!user || (u.operand == 0 && user->role == Role::plain))
        as_is = true;
      else
        users.push_back(user->vertex);
    }
    const double c = layout.boundary(v.type());
    const Packable* maker = found(v.node);
    if (maker && as_is) {
      cut.edge(maker->vertex, cut.sink(), c);
    } else if (maker && !users.empty()) {
      const std::size_t out = cut.add();
      cut.edge(maker->vertex, out, c);
      for (std::size_t u : users) cut.edge(out, u, Cut::never);
    }
    if (users.empty()) continue;
    const std::size_t in = cut.add();
    cut.edge(in, maker ? maker->vertex : cut.sink(), c);
    for (std::size_t u : users) cut.edge(u, in, Cut::never);
  }
  cut.solve();
  std::unordered_map<ValueId, Role> chosen;
  for (const Packable& p : packable)
    if (cut.packed(p.vertex)) chosen.emplace(p.node->results[0].id, p.role);
  return chosen;
}

/// Makes the chosen ops over blocks.
class Packer {
 public:
  Packer(const Layout& layout, std::unordered_map<ValueId, Role> chosen)
      : layout_(layout), chosen_(std::move(chosen)) {}

  std::vector<Value> rule(Builder& b, const Node& n) {
    if (n.results.size() != 1) return {};
    const auto it = chosen_.find(n.results[0].id);
    if (it == chosen_.end()) return {};
    const Role role = it->second;
    chosen_.erase(it);
    const Value made = over_blocks(b, n, role);
    const std::int64_t size = Layout::channels(n.results[0].type);
    return {b.make("unpack", {made}, {{"axis", std::int64_t{1}}, {"size", size}}, n.loc)};
  }

 private:
  Value over_blocks(Builder& b, const Node& n, Role role) {
    if (role == Role::dense || role == Role::plain || role == Role::depthwise)
      return convolution(b, n, role);
    if (role == Role::bytes) return convolution_of_bytes(b, n);
    const std::int64_t c = Layout::channels(n.results[0].type);
    std::vector<Value> in;
    for (Value v : n.operands)
      in.push_back(role == Role::pointwise ? broadcast(b, v, c) : packed(b, v));
    return b.make(n.op, in, attrs_over_blocks(n.attrs, role), n.loc, n.results[0].name);
  }

  /// Attributes that name axes, with the axis inside a block behind the others.
  Attrs attrs_over_blocks(Attrs a, Role role) const {
    if (role == Role::pool) {
      a.set("kernel", spread(a, "kernel", 1, 1));
      for (const char* key : {"strides", "dilations"}) a.set(key, spread(a, key, 1, 1));
    }
    if (role == Role::pool || role == Role::pad) a.set("pads", spread(a, "pads", 2, 0));
    if (role == Role::reduce) a.set("axes", Ints{2, 3});
    if (role == Role::concat) a.set("axis", std::int64_t{1});
    if (role == Role::resize) {
      Ints shape = *a.get<Ints>("shape");
      shape[1] = blocks_of(shape[1], layout_.block());
      shape.push_back(layout_.block());
      a.set("shape", shape);
      auto scales = *a.get<std::vector<double>>("scales");
      if (!scales.empty()) scales.push_back(1);
      a.set("scales", scales);
    }
    return a;
  }

  /// An attribute of one entry per axis and side, with `fill` for the axis inside a block.
  static Ints spread(const Attrs& a, const char* key, std::size_t sides, std::int64_t fill) {
    Ints v = *a.get<Ints>(key);
    if (v.empty()) return v;
    const std::size_t per_side = v.size() / sides;
    for (std::size_t s = sides; s-- > 0;)
      v.insert(v.begin() + static_cast<std::ptrdiff_t>((s + 1) * per_side), fill);
    return v;
  }

  Value pack(Builder& b, Value v, std::int64_t axis) const {
    return b.make("pack", {v}, {{"axis", axis}, {"block", layout_.block()}}, v.node->loc, v.name());
  }
  Value packed(Builder& b, Value v) {
    if (const auto blocks = from_blocks(b, v)) return *blocks;
    const auto it = packed_.find(v.id());
    if (it != packed_.end()) return it->second;
    return packed_[v.id()] = pack(b, v, 1);
  }

  /// An operand of a pointwise op whose result has `c` channels.
  Value broadcast(Builder& b, Value v, std::int64_t c) {
    const Shape s = v.type().shape();
    if (std::ranges::all_of(s, [](std::int64_t n) { return n == 1; })) return v;
    Ints shape(4 - s.size(), 1);
    shape.insert(shape.end(), s.begin(), s.end());
    if (shape[1] == c && c > 1) {
      if (s.size() < 4) v = b.make("reshape", {v}, {{"shape", shape}}, v.node->loc);
      return packed(b, v);
    }
    shape.push_back(1);
    return b.make("reshape", {v}, {{"shape", shape}}, v.node->loc);
  }

  Value convolution(Builder& b, const Node& n, Role role) {
    const std::int64_t block = layout_.block();
    Value w = n.operands[1];
    const Shape s = w.type().shape();
    Attrs a = n.attrs;
    if (role == Role::depthwise) {
      w = b.make("reshape", {w}, {{"shape", Ints{s[0], s[2], s[3]}}}, n.loc);
      w = pack(b, w, 0);
      a.set("groups", std::int64_t{1});
    } else {
      if (role == Role::dense) w = pack(b, w, 1);
      w = pack(b, w, 0);
    }
    std::vector<Value> in{role == Role::plain ? n.operands[0] : packed(b, n.operands[0]), w};
    if (n.operands.size() == 3) {
      const std::int64_t o = s[0];
      Value bias = pack(b, n.operands[2], 0);
      in.push_back(bias);
      TENON_CHECK(bias.type().shape() == (Shape{blocks_of(o, block), block}));
    }
    return b.make("packed_conv2d", in, a, n.loc, n.results[0].name);
  }

  /// What `v` is unpacked from.
  std::optional<Value> from_blocks(Builder& b, Value v) const {
    const Node& n = *v.node;
    const bool ours = b.module().ops()[n.op].name == "unpack" &&
                      *n.attrs.get<std::int64_t>("axis") == 1 &&
                      n.operands[0].type().dims.back().value() == layout_.block();
    return ours ? std::optional(n.operands[0]) : std::nullopt;
  }

  // s (q - z) * t w + bias = (q * w - z (sum of w)) (s t) + bias, by channel
  Value convolution_of_bytes(Builder& b, const Node& n) {
    const auto in_blocks = from_blocks(b, n.operands[0]);
    const auto x = layout_.quantised().dequantised(in_blocks.value_or(n.operands[0])),
               w = layout_.quantised().dequantised(n.operands[1]);
    TENON_CHECK(x && w);
    const std::int64_t block = layout_.block(), channels = w->of.q.type().dims[0].value();
    const auto per_channel = [&](Value v) {
      if (elements(v.type()) == 1) return b.make("reshape", {v}, {{"shape", Ints{}}}, n.loc);
      return broadcast(b, b.make("reshape", {v}, {{"shape", Ints{channels, 1, 1}}}, n.loc),
                       channels);
    };
    Value panels = pack(b, pack(b, w->of.q, 1), 0);
    Ints shape = panels.type().shape();
    shape[4] = block / 4;
    shape.insert(shape.begin() + 5, 4);
    panels = b.make("reshape", {panels}, {{"shape", shape}}, n.loc);
    panels = b.make("transpose", {panels}, {{"perm", Ints{0, 1, 2, 3, 4, 6, 5}}}, n.loc);
    Attrs a{{"strides", *n.attrs.get<Ints>("strides")},
            {"pads", *n.attrs.get<Ints>("pads")},
            {"dilations", *n.attrs.get<Ints>("dilations")}};
    Value zeros;
    if (x->of.zero.node) {
      if (const auto z = layout_.quantised().number(x->of.zero)) a.set("pad", *z);
      const Value wide = b.make("cast", {w->of.q}, {{"to", DType::i32}}, n.loc);
      const Value sums =
          b.make("reduce_sum", {wide}, {{"axes", Ints{1, 2, 3}}, {"keepdims", false}}, n.loc);
      zeros = b.make("mul", {per_channel(x->of.zero), per_channel(sums)}, {}, n.loc);
    }
    const Value scale = b.make("mul", {per_channel(x->scale), per_channel(w->scale)}, {}, n.loc);
    const Value q = in_blocks ? x->of.q : packed(b, x->of.q);
    Value y = b.make("packed_integer_conv2d", {q, panels}, a, n.loc);
    if (zeros.node) y = b.make("sub", {y, zeros}, {}, n.loc);
    y = b.make("mul", {b.make("cast", {y}, {{"to", DType::f32}}, n.loc), scale}, {}, n.loc,
               n.operands.size() == 3 ? "" : n.results[0].name);
    if (n.operands.size() < 3) return y;
    return b.make("add", {y, per_channel(n.operands[2])}, {}, n.loc, n.results[0].name);
  }

  const Layout& layout_;
  std::unordered_map<ValueId, Role> chosen_;
  std::unordered_map<ValueId, Value> packed_;
};

std::int64_t block_of(const PackOptions& options, const TargetFacts* target) {
  if (options.block > 0) return options.block;
  const std::int64_t lanes = target ? target->vector_bytes / 4 : 16;
  return lanes < 8 ? 0 : lanes;
}

/// Before: %1 = conv2d(%0, w)  %2 = relu(%1)
/// After:  %3 = packed_conv2d(pack(%0), pack(w))  %4 = relu(%3)  %2 = unpack(%4)
///     or  %3 = mul(cast<f32>(packed_integer_conv2d(pack(q), w)), scales), of bytes q
/// Laws: pack is a bijection onto the elements below the size, its filling is zero, and ops that
/// act on every channel alike, or mix whole blocks, commute with it; a filled channel of a weight
/// is zero, so what stands in a filled channel of data (finite: see keeps_finite) does not matter.
/// Which ops change is the cheapest choice of all, counting what packs and unpacks at the borders
/// cost. Sums of products of bytes are exact; what they are scaled by is rounded once.
/// Cost: one cut of a graph with a few vertices per op that could be over blocks.
/// Not here: the packs of weights (fold-constants).
Status run(Module& m, PassContext& ctx) {
  const auto options = read_options<PackOptions>(ctx.options());
  const std::int64_t block = block_of(options, ctx.target());
  const bool multiplies_bytes = options.bytes || (ctx.target() && ctx.target()->multiplies_bytes());
  std::int64_t changed = 0;
  if (block > 0)
    for (Function& f : m.functions) {
      if (!f.body.entry || f.attrs.get_or("primitive", false)) continue;
      const Layout layout(m, f, block, options.boundary, multiplies_bytes);
      auto chosen = choose(f, layout);
      if (chosen.empty()) continue;
      changed += static_cast<std::int64_t>(chosen.size());
      Packer packer(layout, std::move(chosen));
      const Rule rule = [&](Builder& b, const Node& n) { return packer.rule(b, n); };
      rewrite(m, f, std::span(&rule, 1));
    }
  remove_dead(m);
  ctx.count("ops over blocks of channels", changed);
  return {};
}

}  // namespace

PassInfo pack_channels() {
  return {.id = "tenon.pack-channels",
          .doc = "Keep activations of convolutions in blocks of channels where that pays.",
          .needs = {"shapes-static"},
          .gives = {},
          .destroys = {},
          .options = option_rows<PackOptions>(),
          .run = run};
}

}  // namespace tenon::passes
