// RNN, GRU and LSTM, written out step by step: the length of the sequence is known here. The inputs
// of all steps are projected by one product; equal steps are one kernel.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plugins/frontends/onnx/steps.h"

namespace tenon::onnx_import {
namespace {

constexpr std::int64_t most_steps = 4096;

using Activation = Term (*)(Term);

Term sigmoid(Term x) { return (*x.s)("sigmoid", {x}); }
Term relu(Term x) { return (*x.s)("relu", {x}); }
Term hyperbolic(Term x) { return tanh(x); }
Term hard_sigmoid(Term x) { return clip(x * 0.2 + 0.5, 0, 1); }
Term softsign(Term x) { return x / (abs(x) + 1.0); }

Activation activation_of(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (name == "sigmoid") return sigmoid;
  if (name == "tanh") return hyperbolic;
  if (name == "relu") return relu;
  if (name == "hardsigmoid") return hard_sigmoid;
  if (name == "softsign") return softsign;
  return nullptr;
}

/// The parts of one direction. Weights stand as [input, gates * hidden].
struct Direction {
  Term projected;  // [time, batch, gates * hidden]: inputs times weights, plus the biases
  Term recurrent;  // [hidden, gates * hidden]
  Term bias;       // of the last gate's recurrence, when it is apart; may be absent
  Term peephole;   // [3 * hidden]; may be absent
  std::vector<Activation> f;
};

struct Step {
  Term h, c;
};

/// A recurrent node: what RNN, GRU and LSTM share.
class Recurrence {
 public:
  Recurrence(NodeImport& n, std::int64_t gates, std::vector<std::string> activations,
             bool last_bias_apart = false)
      : n_(n), gates_(gates), dflt_(std::move(activations)), apart_(last_bias_apart), step(n) {}

  /// The cell: the state after a step, from the gates' input [batch, gates * hidden].
  using Cell = Step (*)(Recurrence&, const Direction&, Term x, Step before);

  Outputs run(Cell cell, bool with_cell_state) {
    if (auto refusal = read()) return std::move(*refusal);
    Term x = step.in(0);
    if (batch_first_) x = step.transpose(x, {1, 0, 2});
    x = step.reshape(x, {time_ * batch_, inputs_});
    std::vector<Term> y, h, c;
    for (std::int64_t d = 0; d < directions_; ++d) {
      const Direction dir = direction(d, x);
      Step s{state(5, d), with_cell_state ? state(6, d) : Term{}};
      std::vector<Term> all(static_cast<std::size_t>(time_));
      const bool back = reverse_ || d == 1;
      for (std::int64_t k = 0; k < time_; ++k) {
        const std::int64_t t = back ? time_ - 1 - k : k;
        const Term now =
            step.reshape(step.slice(dir.projected, 0, t, 1), {batch_, gates_ * hidden_});
        s = cell(*this, dir, now, s);
        all[static_cast<std::size_t>(t)] = step.reshape(s.h, {1, 1, batch_, hidden_});
      }
      y.push_back(step("concat", all, {{"axis", std::int64_t{0}}}));
      h.push_back(step.reshape(s.h, {1, batch_, hidden_}));
      if (with_cell_state) c.push_back(step.reshape(s.c, {1, batch_, hidden_}));
    }
    std::vector<Term> out{joined(y, 1), joined(h, 0)};
    if (with_cell_state) out.push_back(joined(c, 0));
    if (batch_first_) {
      out[0] = step.transpose(out[0], {2, 0, 1, 3});
      for (std::size_t k = 1; k < out.size(); ++k) out[k] = step.transpose(out[k], {1, 0, 2});
    }
    return step.done(out);
  }

  /// Gate k of a [batch, gates * hidden].
  Term gate(Term all, std::int64_t k) { return step.slice(all, 1, k * hidden_, hidden_); }
  Term clipped(Term x) { return clip_ > 0 ? clip(x, -clip_, clip_) : x; }
  Term product(Term h, Term weights) { return step("matmul", {h, weights}); }
  /// Columns of `count` gates from gate k on.
  Term columns(Term weights, std::int64_t k, std::int64_t count) {
    return step.slice(weights, 1, k * hidden_, count * hidden_);
  }
  Term part(Term v, std::int64_t k, std::int64_t count = 1) {
    return step.slice(v, 0, k * hidden_, count * hidden_);
  }
  bool option(std::string_view name) const { return n_.integer(name, 0) != 0; }

 private:
  /// Sizes and attributes; a refusal when they do not fit each other.
  std::optional<Outputs> read() {
    const Shape x = n_.shape(0), w = n_.shape(1), r = n_.shape(2);
    batch_first_ = n_.integer("layout", 0) != 0;
    const std::string direction = n_.text("direction", "forward");
    reverse_ = direction == "reverse";
    directions_ = direction == "bidirectional" ? 2 : 1;
    clip_ = n_.real("clip", 0);
    if (x.size() != 3 || w.size() != 3 || r.size() != 3)
      return n_.fail(
          fmt::format("inputs of rank {}, {} and {}, 3 is needed", x.size(), w.size(), r.size()));
    time_ = x[batch_first_ ? 1 : 0];
    batch_ = x[batch_first_ ? 0 : 1];
    inputs_ = x[2];
    hidden_ = r[2];
    const Shape want_w{directions_, gates_ * hidden_, inputs_},
        want_r{directions_, gates_ * hidden_, hidden_};
    if (w != want_w || r != want_r || time_ < 1)
      return n_.fail(fmt::format("input {}, weights {} and recurrence {} do not fit",
                                 to_string(n_.in(0).type()), to_string(n_.in(1).type()),
                                 to_string(n_.in(2).type())));
    if (time_ > most_steps)
      return n_.fail(fmt::format("{} steps, at most {} are written out", time_, most_steps),
                     "compile for shorter sequences and carry the state");
    const Shape want_b{directions_, 2 * gates_ * hidden_}, want_p{directions_, 3 * hidden_},
        want_s = batch_first_ ? Shape{batch_, directions_, hidden_}
                              : Shape{directions_, batch_, hidden_};
    for (auto [i, want] : {std::pair(3, want_b), {5, want_s}, {6, want_s}, {7, want_p}})
      if (const auto k = static_cast<std::size_t>(i); n_.has(k) && n_.shape(k) != want)
        return n_.fail(fmt::format("input {} is {}, needs {}", i, to_string(n_.in(k).type()),
                                   to_string(TensorType(DType::f32, want))));
    return lengths();
  }

  std::optional<Outputs> lengths() {
    if (!n_.has(4)) return std::nullopt;
    const auto given = n_.const_ints(4);
    if (given && std::ranges::all_of(*given, [&](std::int64_t l) { return l == time_; }))
      return std::nullopt;
    return n_.fail("sequences of different lengths are not supported",
                   "give sequence_lens as the length of the input, or leave it out");
  }

  Direction direction(std::int64_t d, Term x) {
    Direction r;
    const auto of = [&](std::size_t i) {  // of this direction, without the leading axis
      const Term t = step.slice(step.in(i), 0, d, 1);
      const Shape s = n_.shape(i);
      return step.reshape(t, Shape(s.begin() + 1, s.end()));
    };
    const Term w = step.transpose(of(1), {1, 0});
    r.recurrent = step.transpose(of(2), {1, 0});
    Term p = step("matmul", {x, w});
    if (n_.has(3)) {
      const Term b = of(3), own = part(b, 0, gates_), recurrent = part(b, gates_, gates_);
      const std::int64_t sums = apart_ ? gates_ - 1 : gates_;
      Term sum = part(own, 0, sums) + part(recurrent, 0, sums);
      if (apart_) {
        sum = step("concat", {sum, part(own, sums)}, {{"axis", std::int64_t{0}}});
        r.bias = part(recurrent, sums);
      }
      p = p + sum;
    }
    if (n_.has(7)) r.peephole = of(7);
    r.projected = step.reshape(p, {time_, batch_, gates_ * hidden_});
    const auto per = dflt_.size();
    for (std::size_t k = 0; k < per; ++k)
      r.f.push_back(activation(static_cast<std::size_t>(d) * per + k, k));
    return r;
  }

  Activation activation(std::size_t given, std::size_t dflt) {
    const auto* a = n_.attr("activations");
    const std::string name = a && static_cast<std::size_t>(a->strings_size()) > given
                                 ? a->strings(static_cast<int>(given))
                                 : dflt_[dflt];
    const bool own = n_.attr("activation_alpha") || n_.attr("activation_beta");
    if (const Activation f = activation_of(name); f && !own) return f;
    step.refuse(n_.fail(fmt::format("activation '{}'{} is not supported", name,
                                    own ? " with parameters of its own" : "")));
    return hyperbolic;
  }

  /// Initial state of a direction, [batch, hidden]: input i, or zeros.
  Term state(std::size_t i, std::int64_t d) {
    if (!n_.has(i))
      return step("expand", {step.number(n_.in(0).type().dtype, 0)},
                  {{"shape", Shape{batch_, hidden_}}});
    return step.reshape(step.slice(step.in(i), batch_first_ ? 1 : 0, d, 1), {batch_, hidden_});
  }

  Term joined(const std::vector<Term>& parts, std::int64_t axis) {
    return parts.size() == 1 ? parts[0] : step("concat", parts, {{"axis", axis}});
  }

  NodeImport& n_;
  std::int64_t gates_;
  std::vector<std::string> dflt_;
  bool apart_ = false;
  std::int64_t time_ = 0, batch_ = 0, inputs_ = 0, hidden_ = 0, directions_ = 1;
  double clip_ = 0;
  bool reverse_ = false, batch_first_ = false;

 public:
  Steps step;
};

Step rnn_cell(Recurrence& r, const Direction& d, Term x, Step before) {
  return {d.f[0](r.clipped(x + r.product(before.h, d.recurrent))), {}};
}

// Gates: update z, reset r, hidden h.
Step gru_cell(Recurrence& r, const Direction& d, Term x, Step before) {
  const bool linear = r.option("linear_before_reset");
  const Term all = r.product(before.h, linear ? d.recurrent : r.columns(d.recurrent, 0, 2));
  const Term z = d.f[0](r.clipped(r.gate(x, 0) + r.gate(all, 0)));
  const Term reset = d.f[0](r.clipped(r.gate(x, 1) + r.gate(all, 1)));
  Term candidate;
  if (!linear)
    candidate = r.product(reset * before.h, r.columns(d.recurrent, 2, 1));
  else
    candidate = reset * (d.bias.v ? r.gate(all, 2) + d.bias : r.gate(all, 2));
  const Term h = d.f[1](r.clipped(r.gate(x, 2) + candidate));
  return {(1.0 - z) * h + z * before.h, {}};
}

// Gates: input, output, forget, cell.
Step lstm_cell(Recurrence& r, const Direction& d, Term x, Step before) {
  const Term all = x + r.product(before.h, d.recurrent);
  const auto peep = [&](Term gate, std::int64_t k, Term c) {
    return d.peephole.v ? gate + r.part(d.peephole, k) * c : gate;
  };
  const Term input = d.f[0](r.clipped(peep(r.gate(all, 0), 0, before.c)));
  const Term forget =
      r.option("input_forget") ? 1.0 - input : d.f[0](r.clipped(peep(r.gate(all, 2), 2, before.c)));
  const Term c = forget * before.c + input * d.f[1](r.clipped(r.gate(all, 3)));
  const Term output = d.f[0](r.clipped(peep(r.gate(all, 1), 1, c)));
  return {output * d.f[2](c), c};
}

Outputs rnn(NodeImport& n) { return Recurrence(n, 1, {"Tanh"}).run(rnn_cell, false); }
Outputs gru(NodeImport& n) {
  const bool linear = n.integer("linear_before_reset", 0) != 0;
  return Recurrence(n, 3, {"Sigmoid", "Tanh"}, linear).run(gru_cell, false);
}
Outputs lstm(NodeImport& n) {
  return Recurrence(n, 4, {"Sigmoid", "Tanh", "Tanh"}).run(lstm_cell, true);
}

constexpr std::array table{
    OpRow{"RNN", 3, 6, rnn},
    OpRow{"GRU", 3, 6, gru},
    OpRow{"LSTM", 3, 8, lstm},
};

}  // namespace

std::span<const OpRow> recurrent_rows() { return table; }

}  // namespace tenon::onnx_import
