#include "tests/support/aot_model.h"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include "tests/support/artefact.h"
#include "tests/support/registration.h"

namespace tenon::test {

const ExecutorInfo& aot_executor() {
  static const ExecutorInfo info = registration_of("tenon-aot.so").executors.at(0);
  return info;
}

ArtefactFiles aot_files(const ExecProgram& p, const std::string& kernels, const std::string& name) {
  ArtefactFiles out;
  out["kernels.c"] = FileBytes(kernels);
  OptionValues options;
  if (!name.empty()) options.push_back({.key = "name", .items = {name}});
  const Module none{nullptr};
  const Status s = aot_executor().emit(p, none, options, {"kernels.c"}, out);
  if (!s) MESSAGE(s.errors()[0].what);
  REQUIRE(s);
  return out;
}

AotModel::AotModel(const ArtefactFiles& files, const std::string& name, const std::string& flags,
                   const std::string& compiler) {
  const TempDir dir;
  for (const char* file : {"model.c", "model.h"}) {
    REQUIRE(files.contains(file));
    const std::vector<std::byte> bytes = files.at(file).joined();
    write_file(dir.path() / file, bytes.data(), bytes.size());
  }
  object_ = load_c(compiler, {(dir.path() / "model.c").string()}, flags);
  run_ = reinterpret_cast<decltype(run_)>(dlsym(object_.get(), ("tenon_" + name + "_run").c_str()));
  REQUIRE(bool(run_));
}

std::int32_t AotModel::run(const std::vector<const void*>& in,
                           const std::vector<void*>& out) const {
  const void* no_inputs[1] = {};
  void* no_outputs[1] = {};
  return run_(in.empty() ? no_inputs : in.data(), out.empty() ? no_outputs : out.data());
}

}  // namespace tenon::test
