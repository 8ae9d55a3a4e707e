#include <fmt/format.h>

#include <algorithm>

#include "core/text/token.h"
#include "core/text/write.h"
#include "tenon/op.h"

namespace tenon::text {
namespace {

class FunctionWriter {
 public:
  FunctionWriter(std::string& out, const Module& m, const Function& f, const PrintOptions& options)
      : out_(out), m_(m), f_(f), options_(options) {}

  void run() {
    out_ += "func " + at_name(f_.name);
    params(f_.body);
    out_ += " -> (";
    for (std::size_t k = 0; k < f_.result_names.size(); ++k)
      (out_ += k ? ", " : "") += quoted(f_.result_names[k]);
    out_ += ")";
    const std::size_t next_at = out_.size();
    if (!f_.attrs.empty()) {
      out_ += " attrs ";
      put_attrs(out_, f_.attrs, m_.symbols, options_.blobs);
    }
    location(f_.loc);
    out_ += " {\n";
    frames_.push_back({&f_.body});
    while (!frames_.empty()) step();
    out_ += "}\n";
    if (f_.next_id != end_of_ids_) out_.insert(next_at, fmt::format(" next %{}", f_.next_id));
  }

 private:
  struct Frame {
    const Body* body = nullptr;
    std::size_t next = 0;         // node of the body
    std::size_t next_region = 0;  // of the node before `next`
  };

  void indent() { out_.append(frames_.size() * 2, ' '); }

  void step() {
    Frame& frame = frames_.back();
    const Node* open = frame.next > 0 ? frame.body->nodes[frame.next - 1] : nullptr;
    if (open != nullptr && frame.next_region < open->regions.size()) {
      if (frame.next_region > 0) end_region();
      const Body& region = open->regions[frame.next_region++];
      out_ += " region ";
      params(region);
      out_ += " {\n";
      frames_.push_back({&region});
      return;
    }
    if (open != nullptr) {
      if (!open->regions.empty()) end_region();
      out_ += "\n";
    }
    if (frame.next < frame.body->nodes.size()) {
      frame.next_region = 0;
      const Node* n = frame.body->nodes[frame.next++];
      indent();
      if (n != nullptr)
        node(*n);
      else
        out_ += "// a null node\n";
      return;
    }
    indent();
    out_ += "return";
    for (std::size_t k = 0; k < frame.body->results.size(); ++k) {
      out_ += k ? ", " : " ";
      value(frame.body->results[k]);
    }
    out_ += "\n";
    frames_.pop_back();
  }

  void end_region() {
    indent();
    out_ += "}";
  }

  void params(const Body& body) {
    out_ += "(";
    if (body.entry != nullptr) {
      for (std::size_t k = 0; k < body.entry->results.size(); ++k) {
        if (k) out_ += ", ";
        result(body.entry->results[k]);
        out_ += ": ";
        put_type(out_, body.entry->results[k].type, m_.symbols);
      }
    }
    out_ += ")";
  }

  void result(const NodeResult& r) {
    out_ += fmt::format("%{}", r.id);
    if (!r.name.empty()) out_ += " " + quoted(r.name);
    end_of_ids_ = std::max(end_of_ids_, r.id + 1);
  }

  void value(const Value& v) {
    out_ += v.node != nullptr && v.index < v.node->results.size() ? fmt::format("%{}", v.id())
                                                                  : "%none";
  }

  void node(const Node& n) {
    for (std::size_t k = 0; k < n.results.size(); ++k) {
      if (k) out_ += ", ";
      result(n.results[k]);
    }
    if (!n.results.empty()) out_ += " = ";
    const std::string op =
        n.op.v < m_.ops().size() ? m_.ops()[n.op].name : fmt::format("op.{}", n.op.v);
    out_ += is_word(op) ? op : quoted(op);
    const auto* callee = n.attrs.get<std::string>("callee");
    if (callee != nullptr) out_ += " " + at_name(*callee);
    out_ += "(";
    for (std::size_t k = 0; k < n.operands.size(); ++k) {
      if (k) out_ += ", ";
      value(n.operands[k]);
    }
    out_ += ")";
    const auto rows = n.attrs.end() - n.attrs.begin();
    if (rows > (callee != nullptr ? 1 : 0)) {
      out_ += " ";
      put_attrs(out_, n.attrs, m_.symbols, options_.blobs, callee != nullptr ? "callee" : "");
    }
    for (std::size_t k = 0; k < n.results.size(); ++k) {
      out_ += k ? ", " : " : ";
      put_type(out_, n.results[k].type, m_.symbols);
    }
    location(n.loc);
  }

  void location(const Loc& loc) {
    if (!options_.locations || (loc.file.empty() && loc.line == 0)) return;
    out_ += fmt::format(" loc({}, {}, {}, {})", quoted(loc.file), loc.line, loc.col, loc.end_col);
  }

  std::string& out_;
  const Module& m_;
  const Function& f_;
  const PrintOptions& options_;
  std::vector<Frame> frames_;
  ValueId end_of_ids_ = 0;
};

}  // namespace

void put_function(std::string& out, const Module& m, const Function& f,
                  const PrintOptions& options) {
  FunctionWriter(out, m, f, options).run();
}

}  // namespace tenon::text
