// The C boundary: handles, codes, texts. Nothing is thrown past it.
#include <sched.h>

#include <cstring>
#include <new>

#include "context.h"
#include "error.h"
#include "single_step.h"

struct tn_model {
  std::shared_ptr<const tenon::runtime::Model> model;
};
struct tn_context {
  std::unique_ptr<tenon::runtime::Context> context;
};

namespace {

using tenon::runtime::Error;
using tenon::runtime::Model;
using tenon::runtime::Tensor;

thread_local std::string last_error;

template <class F>
int guarded(F&& f) {
  try {
    last_error.clear();
    f();
    return TN_RT_OK;
  } catch (const Error& e) {
    last_error = e.what();
    return e.code;
  } catch (const std::bad_alloc&) {
    last_error = "no memory";
    return TN_RT_MEMORY;
  } catch (const std::exception& e) {
    last_error = std::string("unexpected: ") + e.what();
    return TN_RT_ARGUMENT;
  }
}

template <class T>
T& deref(T* p, const char* what) {
  if (!p) throw Error(TN_RT_ARGUMENT, std::string(what) + " is null");
  return *p;
}

/// Fills as much of `*out` as the caller's struct holds.
template <class T>
void give(T value, T* out) {
  const std::size_t size = deref(out, "the struct").struct_size;
  if (size < sizeof(std::size_t)) throw Error(TN_RT_ARGUMENT, "struct_size is not set");
  value.struct_size = size;
  std::memcpy(out, &value, std::min(size, sizeof value));
}

template <class V>
auto& item(const V& list, std::uint32_t i, const char* what) {
  if (i < list.size()) return list[i];
  throw Error(TN_RT_NAME, std::string("no ") + what + " " + std::to_string(i) + "; the model has " +
                              std::to_string(list.size()));
}

tn_tensor_info info_of(const Tensor& t) {
  return {sizeof(tn_tensor_info),
          t.name.c_str(),
          t.dtype,
          static_cast<std::uint32_t>(t.dims.size()),
          t.dims.data(),
          t.bytes,
          t.align,
          t.planned,
          t.state,
          t.place.index,
          t.place.offset};
}

int find(const std::vector<Tensor>& list, const char* name, std::uint32_t* out, const char* what) {
  deref(name, "the name");
  deref(out, "out");
  std::string known;
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) return static_cast<void>(*out = i), 0;
    if (i < 20) known += (i ? ", '" : "'") + list[i].name + "'";
  }
  throw Error(TN_RT_NAME, std::string("no ") + what + " '" + name + "'; the model has " +
                              (known.empty() ? "none" : known));
}

unsigned cpus_of_process() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

tn_workers checked(const tn_workers& given, std::uint32_t threads) {
  if (given.struct_size < sizeof given)
    throw Error(TN_RT_ARGUMENT, "workers: struct_size is not set");
  if (!given.run) throw Error(TN_RT_ARGUMENT, "workers: run is null");
  if (given.workers < 1 || given.workers > tenon::runtime::max_threads)
    throw Error(TN_RT_ARGUMENT, "workers: " + std::to_string(given.workers) + " workers; 1 to " +
                                    std::to_string(tenon::runtime::max_threads));
  if (threads != 0)
    throw Error(TN_RT_ARGUMENT, "both " + std::to_string(threads) +
                                    " threads and workers of the caller's: set threads to 0");
  return given;
}

}  // namespace

extern "C" {

const char* tn_last_error(void) { return last_error.c_str(); }

int tn_model_load(const char* folder, tn_model** out) {
  return guarded([&] {
    deref(out, "out") = nullptr;
    *out = new tn_model{tenon::runtime::load_model(&deref(folder, "the folder"))};
  });
}
int tn_model_verify(const tn_model* m) {
  return guarded([&] { tenon::runtime::verify_images(*deref(m, "the model").model); });
}
void tn_model_free(tn_model* m) { delete m; }
const char* tn_model_name(const tn_model* m) { return m ? m->model->program.model.c_str() : ""; }
const char* tn_model_json(const tn_model* m) { return m ? m->model->program.text.c_str() : ""; }
std::uint32_t tn_model_inputs(const tn_model* m) {
  return m ? static_cast<std::uint32_t>(m->model->program.inputs.size()) : 0;
}
std::uint32_t tn_model_outputs(const tn_model* m) {
  return m ? static_cast<std::uint32_t>(m->model->program.outputs.size()) : 0;
}
std::uint32_t tn_model_pools(const tn_model* m) {
  return m ? static_cast<std::uint32_t>(m->model->program.pools.size()) : 0;
}
std::uint32_t tn_model_steps(const tn_model* m) {
  return m ? static_cast<std::uint32_t>(m->model->shown.size()) : 0;
}

int tn_model_input(const tn_model* m, std::uint32_t i, tn_tensor_info* out) {
  return guarded(
      [&] { give(info_of(item(deref(m, "the model").model->program.inputs, i, "input")), out); });
}
int tn_model_output(const tn_model* m, std::uint32_t i, tn_tensor_info* out) {
  return guarded(
      [&] { give(info_of(item(deref(m, "the model").model->program.outputs, i, "output")), out); });
}
int tn_model_pool(const tn_model* m, std::uint32_t i, tn_pool_info* out) {
  return guarded([&] {
    static constexpr const char* kinds[] = {"data", "constants", "worker"};
    const Model& model = *deref(m, "the model").model;
    const auto& p = item(model.program.pools, i, "pool");
    const auto& image = model.images[i];
    give(tn_pool_info{sizeof(tn_pool_info), p.id.c_str(), p.bytes, p.align,
                      kinds[static_cast<unsigned>(p.kind)],
                      image.size() > 0 ? image.data() : nullptr, image.size()},
         out);
  });
}
int tn_model_step(const tn_model* m, std::uint32_t i, tn_step_info* out) {
  return guarded([&] {
    static constexpr const char* kinds[] = {"call", "copy", "branch", "", "loop"};
    const Model& model = *deref(m, "the model").model;
    const auto& s = model.program.steps[item(model.shown, i, "step")];
    const bool call = s.kind == tenon::runtime::StepKind::call;
    const auto* k = call ? &model.program.kernels[s.kernel] : nullptr;
    give(tn_step_info{sizeof(tn_step_info), s.name.c_str(), kinds[static_cast<unsigned>(s.kind)],
                      k ? k->symbol.c_str() : "", k ? k->work : 0,
                      static_cast<std::uint32_t>(tenon::runtime::arguments(model, s).size()),
                      tenon::runtime::past(model, i)},
         out);
  });
}
int tn_model_step_arg(const tn_model* m, std::uint32_t step, std::uint32_t arg, tn_arg_info* out) {
  return guarded([&] {
    const Model& model = *deref(m, "the model").model;
    const auto& s = model.program.steps[item(model.shown, step, "step")];
    give(item(tenon::runtime::arguments(model, s), arg, "argument"), out);
  });
}
int tn_run_step(const tn_model* m, std::uint32_t step, int turn, void* const* args,
                std::uint32_t* next) {
  return guarded([&] {
    const Model& model = *deref(m, "the model").model;
    item(model.shown, step, "step");
    deref(args, "args");
    deref(next, "next") = tenon::runtime::run_step(model, step, turn != 0, args);
  });
}
int tn_find_input(const tn_model* m, const char* name, std::uint32_t* out) {
  return guarded([&] { find(deref(m, "the model").model->program.inputs, name, out, "input"); });
}
int tn_find_output(const tn_model* m, const char* name, std::uint32_t* out) {
  return guarded([&] { find(deref(m, "the model").model->program.outputs, name, out, "output"); });
}

int tn_context_create(tn_model* m, const tn_context_options* options, tn_context** out) {
  return guarded([&] {
    deref(out, "out") = nullptr;
    tn_context_options o{sizeof o, 1, 0, nullptr};
    if (options) {
      if (options->struct_size < sizeof(std::size_t))
        throw Error(TN_RT_ARGUMENT, "struct_size is not set");
      std::memcpy(&o, options, std::min(options->struct_size, sizeof o));
    }
    if (o.flags & ~(TN_GUARD | TN_POISON | TN_PROFILE | TN_DYNAMIC))
      throw Error(TN_RT_ARGUMENT, "unknown flags " + std::to_string(o.flags));
    if (o.threads > tenon::runtime::max_threads)
      throw Error(TN_RT_ARGUMENT, std::to_string(o.threads) + " threads; at most " +
                                      std::to_string(tenon::runtime::max_threads));
    tn_workers given{};
    if (o.workers) given = checked(*o.workers, o.threads);
    const unsigned threads =
        o.threads ? o.threads : std::min(cpus_of_process(), tenon::runtime::max_threads);
    *out = new tn_context{std::make_unique<tenon::runtime::Context>(
        deref(m, "the model").model, threads, o.flags, o.workers ? &given : nullptr)};
  });
}
void tn_context_free(tn_context* c) { delete c; }
std::uint32_t tn_context_threads(const tn_context* c) { return c ? c->context->threads() : 0; }

int tn_set_input(tn_context* c, std::uint32_t i, tn_dtype dtype, std::uint32_t rank,
                 const std::int64_t* dims, const void* data) {
  return guarded([&] { deref(c, "the context").context->set_input(i, {dtype, rank, dims}, data); });
}
int tn_bind_input(tn_context* c, std::uint32_t i, tn_dtype dtype, std::uint32_t rank,
                  const std::int64_t* dims, const void* data) {
  return guarded([&] {
    deref(c, "the context").context->bind_input(i, {dtype, rank, dims}, data);
  });
}
int tn_input_memory(tn_context* c, std::uint32_t i, void** out) {
  return guarded([&] { deref(out, "out") = deref(c, "the context").context->input_memory(i); });
}
int tn_bind_output(tn_context* c, std::uint32_t i, tn_dtype dtype, std::uint32_t rank,
                   const std::int64_t* dims, void* data) {
  return guarded([&] {
    deref(c, "the context").context->bind_output(i, {dtype, rank, dims}, data);
  });
}
int tn_run(tn_context* c) {
  return guarded([&] { deref(c, "the context").context->run(); });
}
int tn_output(tn_context* c, std::uint32_t i, const void** out) {
  return guarded([&] { deref(out, "out") = deref(c, "the context").context->output(i); });
}
int tn_step_times(tn_context* c, const std::uint64_t** nanoseconds, std::uint32_t* n) {
  return guarded([&] {
    const auto& t = deref(c, "the context").context->times();
    deref(nanoseconds, "nanoseconds") = t.data();
    deref(n, "n") = static_cast<std::uint32_t>(t.size());
  });
}

}  // extern "C"
