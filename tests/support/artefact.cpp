#include "tests/support/artefact.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/ranges.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/native_target.h"
#include "tests/support/registration.h"

namespace tenon::test {

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tenon-test-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}
TempDir::~TempDir() {
  std::error_code ec;
  std::filesystem::remove_all(path_, ec);
}

const ExecutorInfo& graph_executor() {
  static const ExecutorInfo info = registration_of("tenon-graph.so").executors.at(0);
  return info;
}

ArtefactFiles emit_files(const ExecProgram& p, const std::vector<std::string>& objects) {
  ArtefactFiles out;
  const Module none{nullptr};
  const Status s = graph_executor().emit(p, none, {}, objects, out);
  if (!s) MESSAGE(s.errors()[0].what);
  REQUIRE(s);
  return out;
}

void write_file(const std::filesystem::path& path, const void* data, std::size_t bytes) {
  std::ofstream f(path, std::ios::binary | std::ios::trunc);
  f.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  REQUIRE(f.flush());
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream f(path, std::ios::binary);
  std::ostringstream s;
  s << f.rdbuf();
  return s.str();
}

void write_artefact(const std::filesystem::path& folder, const ExecProgram& p,
                    const std::vector<tir::Kernel>& kernels) {
  for (const auto& [name, content] : emit_files(p)) {
    const std::vector<std::byte> bytes = content.joined();
    write_file(folder / name, bytes.data(), bytes.size());
  }
  const auto object = compile_object(kernels, llvm_facts());
  REQUIRE(object);
  write_file(folder / "kernels.so", object->data(), object->size());
  seal(folder);
}

void seal(const std::filesystem::path& folder) {
  std::map<std::string, std::string> sums;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string(), bytes = read_text(entry.path());
    if (name == "checksums") continue;
    XXH128_canonical_t sum;
    XXH128_canonicalFromHash(&sum, XXH3_128bits(bytes.data(), bytes.size()));
    sums[name] = fmt::format("{:02x}", fmt::join(sum.digest, ""));
  }
  std::string text;
  for (const auto& [name, sum] : sums) text += sum + "  " + name + "\n";
  write_file(folder / "checksums", text.data(), text.size());
}

ExecKernel exec_kernel(const tir::Kernel& k) {
  ExecKernel e;
  e.symbol = k.symbol;
  for (const tir::Buffer& b : k.buffers) {
    e.n_inputs += b.scope == tir::Scope::input;
    e.n_outputs += b.scope == tir::Scope::output;
    e.n_shared += b.scope == tir::Scope::shared;
  }
  e.extent = k.extent;
  e.grain = k.grain;
  e.work = k.work;
  e.worker_bytes = k.worker_bytes;
  return e;
}

}  // namespace tenon::test
