#include "core/program/metadata.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/storage/timeline.h"

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;

bool holds(const StoragePool& p, Holds h) {
  return std::find(p.holds.begin(), p.holds.end(), h) != p.holds.end();
}

std::uint64_t bytes_of(const tir::Buffer& b) {
  return byte_size({b.dtype, Shape{static_cast<std::int64_t>(b.elements)}}).value_or(0);
}

Json tensor(const TensorType& t) {
  return {{"size", byte_size(t).value_or(0)}, {"type", to_string(t)}};
}

Json main_metadata(const Function& f, const StorageRequest& request, const StoragePlan& plan) {
  Json j{{"workspace", Json::object()}, {"worker", Json::object()}, {"constants", Json::object()}};
  std::vector<std::uint64_t> constants(request.pools.size());
  for (std::size_t k = 0; k < request.tokens.size(); ++k) {
    const auto& members = request.tokens[k].members;
    const bool constant = !members.empty() && members[0].role == Role::constant;
    if (constant) constants[plan.slots[k].pool] += request.tokens[k].size;
  }
  for (std::size_t p = 0; p < request.pools.size(); ++p) {
    const StoragePool& pool = request.pools[p];
    if (holds(pool, Holds::data)) j["workspace"][pool.id] = plan.pools[p].peak;
    if (holds(pool, Holds::worker)) j["worker"][pool.id] = plan.pools[p].peak;
    if (holds(pool, Holds::constants)) j["constants"][pool.id] = constants[p];
  }
  std::uint64_t io = 0;
  j["io"] = 0;
  j["inputs"] = j["outputs"] = Json::object();
  for (std::uint32_t i = 0; i < f.n_params(); ++i) {
    j["inputs"][value_name(f.body.entry->results[i])] = tensor(f.param(i).type());
    io += byte_size(f.param(i).type()).value_or(0);
  }
  for (std::size_t k = 0; k < f.body.results.size(); ++k) {
    const Value v = f.body.results[k];
    const bool named = k < f.result_names.size() && !f.result_names[k].empty();
    j["outputs"][named ? f.result_names[k] : value_name(v.node->results[v.index])] =
        tensor(v.type());
    io += byte_size(v.type()).value_or(0);
  }
  j["io"] = io;
  return j;
}

Json kernel_metadata(const KernelFunction& f, const ComputeFunction* c, std::uint64_t calls) {
  std::uint64_t workspace = 0, io = 0;
  for (const tir::Buffer& b : f.kernel.buffers) {
    if (b.scope == tir::Scope::shared) workspace += bytes_of(b);
    if (b.scope == tir::Scope::input || b.scope == tir::Scope::output) io += bytes_of(b);
  }
  Json j{{"target", f.target},
         {"calls", calls},
         {"workspace", workspace},
         {"worker", f.kernel.worker_bytes},
         {"io", io}};
  if (!c) return j;
  j["inputs"] = j["outputs"] = Json::array();
  for (const TensorType& t : c->compute.inputs) j["inputs"].push_back(to_string(t));
  for (std::uint32_t k = 0; k < c->compute.outputs.size(); ++k)
    j["outputs"].push_back(to_string(c->compute.output_type(k)));
  return j;
}

}  // namespace

Result<std::string> metadata_json(const Module& m, const StorageRequest& request,
                                  const StoragePlan& plan) {
  auto timeline = timeline_of(m);
  if (!timeline) return timeline.errors();
  if (plan.slots.size() != request.tokens.size() || plan.pools.size() != request.pools.size()) {
    return Diag{.code = 4502,
                .what = fmt::format("the storage plan has {} slots, the request {} tokens",
                                    plan.slots.size(), request.tokens.size()),
                .fix = "run the step `plan` again"};
  }
  std::map<std::string, std::uint64_t> calls;
  for (const TimelineStep& s : timeline->steps) {
    if (s.kernel) ++calls[s.kernel->kernel.symbol];
  }
  Json functions{{"main", main_metadata(*timeline->main, request, plan)}};
  for (const KernelFunction& k : m.kernels) {
    if (const auto it = calls.find(k.kernel.symbol); it != calls.end()) {
      functions[k.kernel.symbol] = kernel_metadata(k, m.compute(k.compute), it->second);
    }
  }
  return Json{{"functions", std::move(functions)}}.dump(2, ' ', false,
                                                        Json::error_handler_t::replace) +
         "\n";
}

}  // namespace tenon
