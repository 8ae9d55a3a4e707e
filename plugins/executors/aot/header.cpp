#include <fmt/format.h>

#include "text.h"

namespace tenon::aot_executor {
namespace {

std::string struct_text(const std::vector<ExecIo>& list, const std::vector<std::string>& members,
                        const std::string& name, const char* access) {
  std::string out = "typedef struct {\n";
  if (list.empty()) out += "  int none; /* there are none */\n";
  for (std::size_t i = 0; i < list.size(); ++i)
    out +=
        fmt::format("  {}{}* {}; /* {}: {}{} */\n", access, io_type(list[i].type.dtype), members[i],
                    comment_text(list[i].name), comment_text(to_string(list[i].type)),
                    list[i].state     ? ", state: null keeps it; zeros at first"
                    : list[i].planned ? ", planned: may be null"
                                      : "");
  return out + fmt::format("}} {};\n\n", name);
}

std::string io_macros(const std::vector<ExecIo>& list, const std::string& macro, const char* kind,
                      const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string base = fmt::format("{}_{}_{}", macro, kind, names[i]);
    out += fmt::format("#define {}_BYTES {}u\n#define {}_ALIGN {}u\n", base,
                       byte_size(list[i].type).value_or(0), base, list[i].align);
  }
  return out;
}

/// X(member, type, bytes) for each: lets a program that knows no model go through them.
std::string each(const std::vector<ExecIo>& list, const std::string& macro, const char* kind,
                 const std::vector<std::string>& members) {
  std::string out = fmt::format("#define {}_{}S(X)", macro, kind);
  for (std::size_t i = 0; i < list.size(); ++i)
    out += fmt::format(" \\\n  X({}, {}, {}u)", members[i], io_type(list[i].type.dtype),
                       byte_size(list[i].type).value_or(0));
  return out + '\n';
}

std::string accessors(const std::vector<ExecIo>& list, const Names& n, const char* kind,
                      const std::vector<std::string>& members) {
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].planned)
      out += fmt::format("{}* {}_{}_{}(void);\n", io_type(list[i].type.dtype), n.prefix, kind,
                         members[i]);
  return out.empty() ? ""
                     : fmt::format(
                           "/* Where planned {}s stand; null in the struct means: I use it in "
                           "place. */\n{}\n",
                           kind, out);
}

}  // namespace

std::string_view io_type(DType t) {
  switch (t) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::i8:
      return "int8_t";
    case DType::i16:
      return "int16_t";
    case DType::i32:
      return "int32_t";
    case DType::i64:
      return "int64_t";
    case DType::u32:
      return "uint32_t";
    case DType::u64:
      return "uint64_t";
    case DType::f16:
    case DType::bf16:
    case DType::u16:
      return "uint16_t";
    default:
      return "uint8_t";
  }
}

std::string header_text(const ExecProgram& p, const Names& n) {
  std::string out = fmt::format(
      "/* The model '{}', compiled ahead of time by Tenon for {}. */\n#ifndef {}_H\n#define "
      "{}_H\n\n#include <stdint.h>\n\n"
      "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
      comment_text(p.model), comment_text(p.target_cpu), n.macro, n.macro);
  out += "/* Inputs and outputs: bytes, and what their addresses must be a multiple of. */\n" +
         io_macros(p.inputs, n.macro, "INPUT", n.input_macros) +
         io_macros(p.outputs, n.macro, "OUTPUT", n.output_macros);
  out += "\n/* X(member, type, bytes) for each. */\n" + each(p.inputs, n.macro, "INPUT", n.inputs) +
         each(p.outputs, n.macro, "OUTPUT", n.outputs);
  out += "\n/* What the storage plan uses of each memory, exactly. */\n";
  for (std::size_t i = 0; i < p.pools.size(); ++i)
    out += fmt::format("#define {0}_POOL_{1}_BYTES {2}u\n#define {0}_POOL_{1}_ALIGN {3}u\n",
                       n.macro, n.pool_macros[i], p.pools[i].bytes, p.pools[i].align);
  out += '\n' + struct_text(p.inputs, n.inputs, n.prefix + "_inputs", "const ") +
         struct_text(p.outputs, n.outputs, n.prefix + "_outputs", "") +
         accessors(p.inputs, n, "input", n.inputs) + accessors(p.outputs, n, "output", n.outputs);
  out += fmt::format(
      "#define {0}_E_NULL (-1)  /* a pointer is null */\n"
      "#define {0}_E_ALIGN (-2) /* an input, output or pool is not aligned */\n\n"
      "/* Runs the model once. 0, one of the two above, or what a kernel gave. Inputs, outputs "
      "and\n"
      "   pools must not overlap; the pools belong to the model, so one run at a time. No heap. "
      "*/\n"
      "int32_t {1}_run(const {1}_inputs* in, {1}_outputs* out);\n\n",
      n.macro, n.prefix);
  out +=
      "#ifdef TENON_STEP_TRACE\n/* Yours to define, once: the step that runs, from 1; 0 between "
      "runs. */\n"
      "extern volatile uint32_t tenon_step;\n#endif\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
  return out;
}

}  // namespace tenon::aot_executor
