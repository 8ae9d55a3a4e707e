#include "model.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cpu.h"
#include "error.h"

namespace tenon::runtime {
namespace {

/// Every part that the loader would map lies inside the file.
void check_elf(const std::string& path, std::string_view f) {
  const auto bad = [&](const char* what) { throw Error(TN_RT_OBJECT, path + ": " + what); };
  Elf64_Ehdr h;
  if (f.size() < sizeof h) bad("is no shared object");
  std::memcpy(&h, f.data(), sizeof h);
  if (std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
      h.e_type != ET_DYN)
    bad("is no shared object");
  if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff > f.size() ||
      (f.size() - h.e_phoff) / sizeof(Elf64_Phdr) < h.e_phnum)
    bad("is cut off");
  for (unsigned i = 0; i < h.e_phnum; ++i) {
    Elf64_Phdr p;
    std::memcpy(&p, f.data() + h.e_phoff + i * sizeof p, sizeof p);
    if (p.p_type == PT_LOAD && (p.p_offset > f.size() || p.p_filesz > f.size() - p.p_offset))
      bad("is cut off");
  }
}

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

std::string absolute(const std::string& folder) {
  char* p = realpath(folder.c_str(), nullptr);
  if (!p) throw Error(TN_RT_FILE, folder + ": " + std::strerror(errno));
  std::string out(p);
  std::free(p);
  struct stat s {};
  if (stat(out.c_str(), &s) == 0 && !S_ISDIR(s.st_mode))
    throw Error(TN_RT_FILE, folder + ": is a file; an artefact is a folder");
  return out;
}

/// The image of a pool of constants is the pool; any other ends with its last constant.
std::uint64_t image_bytes(const Program& p, std::uint32_t pool) {
  std::uint64_t end = p.pools[pool].kind == PoolKind::constants ? p.pools[pool].bytes : 0;
  for (const ImageRange& c : p.constants)
    if (c.pool == pool) end = std::max(end, c.offset + c.bytes);
  return end;
}

void resolve_kernels(Model& m) {
  for (const Kernel& k : m.program.kernels) {
    KernelFn fn = nullptr;
    for (const Object& o : m.objects)
      if ((fn = o.find(k.symbol))) break;
    if (!fn)
      throw Error(TN_RT_OBJECT, "kernel '" + k.symbol + "' is not in " + join(m.program.objects));
    m.kernels.push_back(fn);
  }
}

}  // namespace

Object::Object(const std::string& folder, const std::string& name, const Checksums& sums) {
  const std::string path = folder + name;
  {
    const Region file = Region::map_file(path);
    check_elf(path, file.text());
    sums.check(name, file.text());
  }
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) throw Error(TN_RT_OBJECT, std::string("cannot load the kernels: ") + dlerror());
}
Object::Object(Object&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
Object::~Object() {
  if (handle_) dlclose(handle_);
}
KernelFn Object::find(const std::string& symbol) const {
  return reinterpret_cast<KernelFn>(dlsym(handle_, symbol.c_str()));
}

std::shared_ptr<const Model> load_model(const std::string& folder) {
  const std::string dir = absolute(folder) + "/";
  std::string text = read_file(dir + "program.json");
  Checksums sums(read_file(dir + checksums_name));
  sums.check("program.json", text);
  auto m = std::make_shared<Model>(Model{parse_program(std::move(text)), std::move(sums)});
  const Program& p = m->program;
  if (const auto missing = missing_features(p.features); !missing.empty())
    throw Error(TN_RT_CPU, "this CPU lacks what the artefact was compiled for: " + join(missing) +
                               ". Compile it for this CPU, or for an older level");
  for (std::uint32_t i = 0; i < p.pools.size(); ++i)
    m->images.push_back(
        p.pools[i].image.empty()
            ? Region()
            : Region::map_file(dir + p.pools[i].image, image_bytes(p, i), p.pools[i].align));
  if (!p.kernels.empty())
    for (const std::string& o : p.objects) m->objects.emplace_back(dir, o, m->checksums);
  resolve_kernels(*m);
  for (std::uint32_t s = 0; s < p.steps.size(); ++s)
    if (p.steps[s].kind != StepKind::jump && p.steps[s].kind != StepKind::turn)
      m->shown.push_back(s);
  return m;
}

void verify_images(const Model& m) {
  for (std::size_t i = 0; i < m.images.size(); ++i)
    if (const Region& r = m.images[i]; !m.program.pools[i].image.empty())
      m.checksums.check(m.program.pools[i].image,
                        {reinterpret_cast<const char*>(r.data()), r.size()});
}

}  // namespace tenon::runtime
