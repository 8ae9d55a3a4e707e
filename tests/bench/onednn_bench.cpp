// Generated kernels beside oneDNN's, one thread, interleaved in one process: GF/s at the least time
// of many short batches. Convolutions have bias and ReLU fused and their padding included. oneDNN
// takes the layouts it prefers, reordered beforehand; ours run in every form that a pipeline may
// give them, one row each:
//   rows    operands as a model has them: NCHW, matrices in rows
//   packed  channels in blocks of a vector; the constant matrix in panels
//   tenon-onednn-bench [--filter=TEXT] [--seconds=PER_ROW] [--dump=FILE of the generated object]
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <dnnl.hpp>
#include <functional>
#include <map>
#include <string_view>

#include "tests/bench/kernels.h"
#include "tests/support/te_cases.h"

using namespace tenon;
using namespace tenon::test;
using namespace tenon::bench;

namespace {

constexpr std::int64_t block = 16, panel = 64;

/// A primitive with its operands, ready to run.
class Peer {
 public:
  Peer() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  static std::unique_ptr<Peer> conv(const Conv& p) {
    auto r = std::make_unique<Peer>();
    const bool grouped = p.groups > 1;
    const dnnl::memory::dims weights =
        grouped ? dims{p.groups, p.o / p.groups, p.c / p.groups, p.kh, p.kw}
                : dims{p.o, p.c, p.kh, p.kw};
    dnnl::post_ops after;
    after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0, 0);
    dnnl::primitive_attr attr;
    attr.set_post_ops(after);
    const dnnl::convolution_forward::primitive_desc d({dnnl::prop_kind::forward_inference,
                                                       dnnl::algorithm::convolution_direct,
                                                       any({p.n, p.c, p.h, p.w}),
                                                       any(weights),
                                                       any({p.o}),
                                                       any({p.n, p.o, p.out_h(), p.out_w()}),
                                                       {p.stride, p.stride},
                                                       {p.pad, p.pad},
                                                       {p.pad, p.pad}},
                                                      attr, r->engine_);
    r->primitive_ = dnnl::convolution_forward(d);
    r->add(DNNL_ARG_SRC, d.src_desc());
    r->add(DNNL_ARG_WEIGHTS, d.weights_desc());
    r->add(DNNL_ARG_BIAS, d.bias_desc());
    r->add(DNNL_ARG_DST, d.dst_desc());
    return r;
  }

  static std::unique_ptr<Peer> product(std::int64_t m, std::int64_t n, std::int64_t k) {
    auto r = std::make_unique<Peer>();
    const auto rows = [](std::int64_t x, std::int64_t y) {
      return dnnl::memory::desc({x, y}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab);
    };
    const dnnl::matmul::primitive_desc d({rows(m, k), any({k, n}), rows(m, n)}, r->engine_);
    r->primitive_ = dnnl::matmul(d);
    r->add(DNNL_ARG_SRC, d.src_desc());
    r->add(DNNL_ARG_WEIGHTS, d.weights_desc());
    r->add(DNNL_ARG_DST, d.dst_desc());
    return r;
  }

  void operator()() {
    primitive_.execute(stream_, operands_);
    stream_.wait();
  }

 private:
  using dims = dnnl::memory::dims;
  static dnnl::memory::desc any(const dims& d) {
    return {d, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
  }
  void add(int argument, const dnnl::memory::desc& d) {
    dnnl::memory m(d, engine_);
    fill(static_cast<float*>(m.get_data_handle()), d.get_size() / sizeof(float));
    operands_.emplace(argument, m);
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> operands_;
};

/// A line of the table: forms of one kernel of ours, and the peer's.
struct Row {
  std::string group, name;
  std::vector<Layer> ours;
  std::function<std::unique_ptr<Peer>()> peer;
};

Row conv_row(const char* group, Conv p) {
  const double flop =
      2.0 * static_cast<double>(p.n * p.o * p.out_h() * p.out_w() * (p.c / p.groups) * p.kh * p.kw);
  p.bias = p.relu = true;
  return {group,
          fmt::format("{}->{} {}x{} s{}", p.c, p.o, p.h, p.w, p.stride),
          {{"rows", conv(p), flop}, {"packed", packed_conv(p, block), flop}},
          [p] { return Peer::conv(p); }};
}
Row square(std::int64_t c, std::int64_t o, std::int64_t h, std::int64_t stride) {
  return conv_row("conv3",
                  {.c = c, .h = h, .w = h, .o = o, .kh = 3, .kw = 3, .stride = stride, .pad = 1});
}
Row pointwise(std::int64_t c, std::int64_t o, std::int64_t h, std::int64_t stride = 1) {
  return conv_row("conv1", {.c = c, .h = h, .w = h, .o = o, .stride = stride});
}
Row depthwise(std::int64_t c, std::int64_t h, std::int64_t stride) {
  return conv_row(
      "dw",
      {.c = c, .h = h, .w = h, .o = c, .kh = 3, .kw = 3, .stride = stride, .pad = 1, .groups = c});
}
Row product(std::int64_t m, std::int64_t n, std::int64_t k) {
  const double flop = 2.0 * static_cast<double>(m * n * k);
  Row r{"gemm", fmt::format("{},{},{}", m, n, k), {{"rows", matmul(0, m, n, k), flop}}, [m, n, k] {
          return Peer::product(m, n, k);
        }};
  if (n % panel == 0)
    r.ours.push_back({"packed", panel_matmul(m, n, k, panel), flop});
  else
    r.ours.push_back({"packed", matmul(0, m, n, k, true), flop});
  return r;
}

std::vector<Row> rows() {
  std::vector<Row> r{product(196, 512, 512),  product(3136, 64, 64),   product(128, 384, 384),
                     product(128, 1536, 384), product(1, 1000, 1280),  product(49, 2048, 512),
                     square(64, 64, 56, 1),   square(128, 128, 28, 1), square(256, 256, 14, 1),
                     square(512, 512, 7, 1),  square(128, 128, 56, 2), square(3, 32, 224, 2)};
  // Layers of ResNet 50 and MobileNetV2.
  for (auto [c, o, h] : {std::array<std::int64_t, 3>{64, 256, 56},
                         {256, 64, 56},
                         {512, 128, 28},
                         {1024, 256, 14},
                         {2048, 512, 7},
                         {16, 96, 112},
                         {96, 24, 56},
                         {384, 64, 14},
                         {160, 960, 7},
                         {960, 160, 7}})
    r.push_back(pointwise(c, o, h));
  r.push_back(pointwise(256, 512, 56, 2));
  for (auto [c, h, stride] : {std::array<std::int64_t, 3>{144, 56, 1},
                              {144, 56, 2},
                              {384, 14, 1},
                              {32, 112, 1},
                              {960, 7, 1}})
    r.push_back(depthwise(c, h, stride));
  return r;
}

/// Something to time: calls in a batch, least seconds of one call.
struct Timed {
  std::function<void()> call;
  int batch = 1;
  double least = 1e9;
  double seconds() const {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < batch; ++i) call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / batch;
  }
};

void measure(std::vector<Timed>& all, double budget) {
  for (Timed& t : all) {
    t.seconds();  // caches, lazy set-up of the peer
    t.batch = std::max(1, static_cast<int>(200e-6 / t.seconds()));
  }
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < budget)
    for (Timed& t : all) t.least = std::min(t.least, t.seconds());
}

}  // namespace

int main(int argc, char** argv) {
  const char* dump = nullptr;
  std::string filter;
  double seconds = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a.starts_with("--dump="))
      dump = argv[i] + 7;
    else if (a.starts_with("--filter="))
      filter = a.substr(9);
    else if (a.starts_with("--seconds="))
      seconds = std::atof(argv[i] + 10);
    else
      return fmt::print(stderr, "unknown argument {}; see the head of onednn_bench.cpp\n", a), 2;
  }
  // The peer's threads are OpenMP's.
  if (auto* threads = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
    threads(1);

  std::vector<Row> table;
  std::vector<Layer> layers;
  for (Row& r : rows()) {
    if ((r.group + " " + r.name).find(filter) == std::string::npos) continue;
    for (const Layer& l : r.ours) layers.push_back(l);
    table.push_back(std::move(r));
  }
  const std::vector<Built> built = build(layers, dump);
  struct Total {
    double log = 0, least = 1e9;
    int n = 0;
  };
  std::map<std::string, Total> totals;
  fmt::print("{:6} {:22} {:8} {:>8} {:>8} {:>7}  {}\n", "", "shape", "form", "GF/s", "oneDNN",
             "ratio", "kernel, family and loops");
  std::size_t next = 0;
  for (const Row& r : table) {
    const std::unique_ptr<Peer> peer = r.peer();
    std::vector<std::unique_ptr<Arena>> arenas;
    std::vector<Timed> timed{{.call = [&] { (*peer)(); }}};
    for (std::size_t k = 0; k < r.ours.size(); ++k) {
      const Built& b = built[next + k];
      arenas.push_back(std::make_unique<Arena>(b.kernel));
      timed.push_back({.call = [&b, &a = *arenas.back()] {
        b.call(a.buffers.data(), nullptr, a.worker, 0, b.kernel.extent);
      }});
    }
    measure(timed, seconds);
    for (std::size_t k = 0; k < r.ours.size(); ++k) {
      const double ratio = timed[0].least / timed[k + 1].least, gf = r.ours[k].flop * 1e-9;
      fmt::print("{:6} {:22} {:8} {:8.1f} {:8.1f} {:7.3f}  {} {}\n", r.group, r.name,
                 r.ours[k].name, gf / timed[k + 1].least, gf / timed[0].least, ratio,
                 built[next + k].kernel.symbol, built[next + k].loops);
      Total& t = totals[r.group + " " + r.ours[k].name];
      t.log += std::log(ratio), t.least = std::min(t.least, ratio), ++t.n;
    }
    std::fflush(stdout);
    next += r.ours.size();
  }
  for (const auto& [name, t] : totals)
    fmt::print("{:14} geometric mean {:.3f}, least {:.3f}\n", name, std::exp(t.log / t.n), t.least);
}
