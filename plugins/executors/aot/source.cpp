#include <fmt/format.h>

#include "literal.h"
#include "tenon/executor.h"
#include "text.h"

namespace tenon::aot_executor {
namespace {

class SourceWriter {
 public:
  SourceWriter(const ExecProgram& p, const Names& n,
               const std::map<std::string, std::string>& comments)
      : p_(p), n_(n), comments_(comments) {
    for (std::uint32_t i = 0; i < p.pools.size(); ++i)
      images_.emplace_back(i, std::vector<std::byte>());
  }

  Result<std::string> run(const std::string& kernels) {
    for (auto& [i, bytes] : images_) {
      auto image = constants_image(p_, i);
      if (!image) return image.errors();
      bytes = image->joined();
    }
    out_ = fmt::format(
        "/* The model '{}', compiled ahead of time by Tenon. */\n#include \"model.h\"\n\n#include "
        "<string.h>\n\n"
        "#define TENON_KERNEL static\n",
        comment_text(p_.model));
    out_ += kernels + '\n' + std::string(settings);
    for (std::uint32_t i = 0; i < p_.pools.size(); ++i) pool(i);
    accessors(p_.inputs, "input", n_.inputs);
    accessors(p_.outputs, "output", n_.outputs);
    entry();
    return std::move(out_);
  }

 private:
  // A section's name begins with .bss or .rodata so that linker scripts which know nothing of pools
  // place it well.
  static constexpr std::string_view settings =
      "/* --- memory. Each pool is one array: -DTENON_..._SECTION='\".name\"' puts it where the "
      "linker script says;\n"
      "   -DTENON_..._ADDRESS=EXPRESSION uses memory of yours instead of an array, and with\n"
      "   -DTENON_..._CAPACITY=BYTES it must be large enough. */\n"
      "#if defined(__GNUC__)\n#define TENON_SECTION(name) __attribute__((section(name)))\n#else\n"
      "#define TENON_SECTION(name)\n#endif\n"
      "#if defined(__has_attribute)\n#if __has_attribute(nonstring)\n#define TENON_BYTES "
      "__attribute__((nonstring))\n#endif\n"
      "#endif\n#ifndef TENON_BYTES\n#define TENON_BYTES\n#endif\n"
      "#ifdef TENON_STEP_TRACE\n#define TENON_STEP(n) (tenon_step = (n))\n#else\n#define "
      "TENON_STEP(n) ((void)0)\n#endif\n";

  std::string array(std::uint32_t i) const {
    return fmt::format("{}_pool_{}", n_.prefix, n_.pools[i]);
  }
  std::string image_name(std::uint32_t i) const {
    return fmt::format("{}_image_{}", n_.prefix, n_.pools[i]);
  }
  bool constant(std::uint32_t i) const { return p_.pools[i].kind == ExecPool::Kind::constants; }
  /// A writable pool with constants: they are copied there before the first run.
  bool has_image(std::uint32_t i) const { return !constant(i) && !images_[i].second.empty(); }

  void section(const std::string& macro, const std::string& name) {
    out_ += fmt::format("#ifndef {0}_SECTION\n#define {0}_SECTION \"{1}\"\n#endif\n", macro, name);
  }

  void constants(const std::string& name, const std::string& macro, std::uint64_t align,
                 std::uint32_t i) {
    section(macro, ".rodata.tenon_" + n_.pools[i]);
    out_ += fmt::format(
        "static const _Alignas({}) unsigned char {}[{}] TENON_SECTION({}_SECTION) TENON_BYTES =\n  "
        "  {};\n",
        align, name, images_[i].second.size(), macro, literal(images_[i].second));
  }

  void pool(std::uint32_t i) {
    const ExecPool& pool = p_.pools[i];
    const std::string macro = fmt::format("{}_POOL_{}", n_.macro, n_.pool_macros[i]);
    if (pool.bytes == 0) return;
    out_ += fmt::format("\n/* {}: {} bytes */\n", comment_text(pool.id), pool.bytes);
    if (constant(i)) return constants(array(i), macro, pool.align, i);
    if (has_image(i))
      constants(image_name(i), fmt::format("{}_IMAGE_{}", n_.macro, n_.pool_macros[i]), 16, i);
    section(macro, ".bss.tenon_" + n_.pools[i]);
    out_ += fmt::format(
        "#ifdef {0}_ADDRESS\n#define {1} ((unsigned char*)({0}_ADDRESS))\n#ifdef {0}_CAPACITY\n"
        "_Static_assert({0}_CAPACITY >= {0}_BYTES, \"the memory for {1} is too small\");\n"
        "#endif\n#else\n"
        "static _Alignas({2}) unsigned char {1}[{0}_BYTES] TENON_SECTION({0}_SECTION);\n#endif\n",
        macro, array(i), pool.align);
  }

  // --- places

  std::string at(const ArgPlace& a, bool writes) const {
    if (a.bytes == 0) return "(void*)nothing";
    const std::string plus = a.offset == 0 ? "" : fmt::format(" + {}", a.offset);
    if (a.kind == ArgPlace::Kind::pool) {
      const std::string where = array(a.index) + plus;
      return constant(a.index) && !writes ? fmt::format("(void*)(uintptr_t)({})", where) : where;
    }
    if (a.kind == ArgPlace::Kind::output)
      return a.offset == 0 ? fmt::format("out->{}", n_.outputs[a.index])
                           : fmt::format("(unsigned char*)out->{}{}", n_.outputs[a.index], plus);
    return fmt::format("(void*)((uintptr_t)in->{}{})", n_.inputs[a.index],
                       a.offset == 0 ? "" : plus + "u");
  }
  std::string read(const ArgPlace& a) const {
    return a.kind == ArgPlace::Kind::pool && constant(a.index) && a.bytes > 0
               ? fmt::format("{} + {}", array(a.index), a.offset)
               : at(a, false);
  }

  void accessors(const std::vector<ExecIo>& list, const char* kind,
                 const std::vector<std::string>& members) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].planned && list[i].place.bytes > 0)
        out_ += fmt::format("\n{0}* {1}_{2}_{3}(void) {{ return ({0}*)(void*)({4} + {5}); }}\n",
                            io_type(list[i].type.dtype), n_.prefix, kind, members[i],
                            array(list[i].place.index), list[i].place.offset);
      else if (list[i].planned)
        out_ += fmt::format("\n{0}* {1}_{2}_{3}(void) {{ return 0; }}\n",
                            io_type(list[i].type.dtype), n_.prefix, kind, members[i]);
  }

  // --- the entry

  void line(const std::string& text) {
    out_.append(2 * depth_, ' ');
    out_ += text + '\n';
  }

  void entry() {
    out_ +=
        fmt::format("\nint32_t {0}_run(const {0}_inputs* in, {0}_outputs* out) {{\n", n_.prefix);
    if (needs_nothing(p_.steps))
      line("static _Alignas(64) unsigned char nothing[64]; /* where tensors of 0 bytes are */");
    line(fmt::format("if (in == 0 || out == 0) return {}_E_NULL;", n_.macro));
    check_io(p_.inputs, "in", n_.inputs);
    check_io(p_.outputs, "out", n_.outputs);
    for (std::uint32_t i = 0; i < p_.pools.size(); ++i)
      if (p_.pools[i].bytes > 0)
        line(fmt::format("if ((uintptr_t){} % {}u != 0) return {}_E_ALIGN;", array(i),
                         p_.pools[i].align, n_.macro));
    copy_images();
    for (std::size_t i = 0; i < p_.inputs.size(); ++i)
      if (p_.inputs[i].planned && p_.inputs[i].place.bytes > 0)
        line(fmt::format("if (in->{0} != 0) memcpy({1}, in->{0}, {2});", n_.inputs[i],
                         at(p_.inputs[i].place, true), p_.inputs[i].place.bytes));
    if (has_call(p_.steps)) line("int32_t code;");
    steps(p_.steps);
    line("TENON_STEP(0);");
    for (std::size_t i = 0; i < p_.outputs.size(); ++i)
      if (p_.outputs[i].planned && p_.outputs[i].place.bytes > 0)
        line(fmt::format("if (out->{0} != 0) memcpy(out->{0}, {1}, {2});", n_.outputs[i],
                         read(p_.outputs[i].place), p_.outputs[i].place.bytes));
    line("return 0;");
    out_ += "}\n";
  }

  void check_io(const std::vector<ExecIo>& list, const char* from,
                const std::vector<std::string>& members) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].planned || byte_size(list[i].type) == 0u) continue;
      line(fmt::format("if ({}->{} == 0) return {}_E_NULL;", from, members[i], n_.macro));
      line(fmt::format("if ((uintptr_t){}->{} % {}u != 0) return {}_E_ALIGN;", from, members[i],
                       list[i].align, n_.macro));
    }
  }

  void copy_images() {
    bool any = false;
    for (std::uint32_t i = 0; i < p_.pools.size(); ++i) any = any || has_image(i);
    if (!any) return;
    line("static unsigned char ready;");
    line("if (ready == 0) { /* constants of pools that are written too */");
    for (std::uint32_t i = 0; i < p_.pools.size(); ++i)
      if (has_image(i))
        for (const ExecConstant& c : p_.constants)
          if (c.pool == i && !c.data->bytes.empty())
            line(fmt::format("  memcpy({} + {}, {} + {}, {});", array(i), c.offset, image_name(i),
                             c.offset, c.data->bytes.size()));
    line("  ready = 1;");
    line("}");
  }

  static bool has_call(const std::vector<ExecStep>& list) {
    for (const ExecStep& s : list)
      if (s.kind == ExecStep::Kind::call || has_call(s.then_steps) || has_call(s.else_steps))
        return true;
    return false;
  }
  static bool needs_nothing(const std::vector<ExecStep>& list) {
    for (const ExecStep& s : list) {
      if (s.kind == ExecStep::Kind::call)
        for (const ArgPlace& a : s.args)
          if (a.bytes == 0) return true;
      if (needs_nothing(s.then_steps) || needs_nothing(s.else_steps)) return true;
    }
    return false;
  }

  /// Branches and loops nest to at most 64.
  void steps(const std::vector<ExecStep>& list) {
    for (const ExecStep& s : list) step(s);
  }

  void arm(const std::vector<ExecStep>& list) {
    ++depth_;
    steps(list);
    --depth_;
  }

  void step(const ExecStep& s) {
    const auto it = comments_.find(s.name);
    const std::string& what = it == comments_.end() || it->second.empty() ? s.name : it->second;
    out_ += '\n';
    line(fmt::format("/* step {}: {} */", ++step_, comment_text(what)));
    line(fmt::format("TENON_STEP({}u);", step_));
    switch (s.kind) {
      case ExecStep::Kind::call:
        return call(s);
      case ExecStep::Kind::copy:
        return copy(s.args[1], s.args[0]);
      case ExecStep::Kind::branch:
        line(fmt::format("if (*(const unsigned char*){} != 0) {{", at(s.args[0], false)));
        arm(s.then_steps);
        line("} else {");
        arm(s.else_steps);
        line("}");
        return;
      case ExecStep::Kind::loop:
        return loop(s);
    }
  }

  void copy(const ArgPlace& to, const ArgPlace& from) {
    if (to.bytes > 0 && !(from == to))
      line(fmt::format("memcpy({}, {}, {});", at(to, true), read(from), to.bytes));
  }

  void loop(const ExecStep& s) {
    const std::string count = fmt::format("count{}", step_), i = fmt::format("i{}", step_);
    for (std::size_t j = 2; j < s.args.size(); j += 3) copy(s.args[j + 1], s.args[j]);
    line("{");
    ++depth_;
    line(fmt::format("int64_t {};", count));
    line(fmt::format("memcpy(&{}, {}, 8);", count, read(s.args[0])));
    line(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0}) {{", i, count));
    ++depth_;
    line(fmt::format("memcpy({}, &{}, 8);", at(s.args[1], true), i));
    steps(s.then_steps);
    for (std::size_t j = 2; j < s.args.size(); j += 3) copy(s.args[j + 1], s.args[j + 2]);
    --depth_;
    line("}");
    --depth_;
    line("}");
  }

  void call(const ExecStep& s) {
    const ExecKernel& k = p_.kernels[s.kernel];
    std::string list;
    for (std::size_t i = 0; i < s.args.size(); ++i)
      list += (i ? ", " : "") + at(s.args[i], i >= k.n_inputs);
    const std::string worker =
        k.worker_bytes == 0 ? "0" : fmt::format("{} + {}", array(k.worker_pool), k.worker_offset);
    line("{");
    line(fmt::format("  void* const buf[] = {{{}}};", list));
    line(fmt::format("  code = {}(buf, 0, {}, 0, {});", k.symbol, worker, k.extent));
    line("}");
    line("if (code != 0) return code;");
  }

  const ExecProgram& p_;
  const Names& n_;
  const std::map<std::string, std::string>& comments_;
  std::vector<std::pair<std::uint32_t, std::vector<std::byte>>> images_;  ///< per pool
  std::string out_;
  std::size_t depth_ = 1;
  std::uint32_t step_ = 0;
};

}  // namespace

Result<std::string> source_text(const ExecProgram& p, const Names& n, const std::string& kernels,
                                const std::map<std::string, std::string>& comments) {
  return SourceWriter(p, n, comments).run(kernels);
}

}  // namespace tenon::aot_executor
