#include "core/plugin_host/elf.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace tenon::plugin_host {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr Elf64_Half kMachine = EM_RISCV;
#else
#error "add this machine's EM_ constant"
#endif

constexpr std::uint64_t kMaxTable =
    64u << 20;  // bytes; no honest plugin has a longer name or symbol table

std::string machine_name(Elf64_Half m) {
  switch (m) {
    case EM_386:
      return "i386";
    case EM_ARM:
      return "arm";
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_RISCV:
      return "riscv";
    default:
      return fmt::format("machine {}", m);
  }
}

/// Reads one file; each step returns a Diag or nothing, and later steps rely on what earlier ones
/// checked.
class Reader {
 public:
  explicit Reader(const PluginFile& f) : file_(f) {}

  Result<ElfFacts> run() {
    for (auto step : {&Reader::header, &Reader::segments, &Reader::sections, &Reader::dynamic,
                      &Reader::symbols})
      if (auto bad = (this->*step)()) return *bad;
    return std::move(facts_);
  }

 private:
  using Bad = std::optional<Diag>;

  Diag bad(std::string_view why, std::string_view fix = "build or copy it again") const {
    return refuse(1003, file_.path(), why, fix);
  }
  Diag cut(std::string_view part, std::uint64_t offset, std::uint64_t n) const {
    return bad(fmt::format("is cut short: {} needs bytes {} to {}, the file has {}", part, offset,
                           offset + n, file_.size()));
  }
  template <class T>
  bool table(std::uint64_t offset, std::uint64_t count, std::vector<T>& out) const {
    if (count > kMaxTable / sizeof(T)) return false;
    out.resize(count);
    return file_.read(offset, out.data(), count * sizeof(T));
  }

  Bad header() {
    if (!file_.read(0, &h_, std::min<std::uint64_t>(file_.size(), SELFMAG)) ||
        std::memcmp(h_.e_ident, ELFMAG, SELFMAG) != 0)
      return bad("is not an ELF file", "name a shared object (.so) built by tenon_add_plugin()");
    if (!file_.read(0, &h_, sizeof h_)) return cut("the ELF header", 0, sizeof h_);
    if (h_.e_ident[EI_CLASS] != ELFCLASS64 || h_.e_ident[EI_DATA] != ELFDATA2LSB)
      return bad("is not a 64-bit little-endian ELF file", "build it for this machine");
    if (h_.e_machine != kMachine)
      return bad(fmt::format("is for {}, this machine is {}", machine_name(h_.e_machine),
                             machine_name(kMachine)),
                 "build it for this machine");
    if (h_.e_type != ET_DYN)
      return bad(fmt::format("is not a shared object (ELF type {})", h_.e_type),
                 "link it with tenon_add_plugin()");
    if (h_.e_phentsize != sizeof(Elf64_Phdr) || h_.e_phnum == 0 || h_.e_phnum == PN_XNUM)
      return bad(fmt::format("has {} program headers of {} bytes", h_.e_phnum, h_.e_phentsize));
    if (!table(h_.e_phoff, h_.e_phnum, ph_))
      return cut("the program header table", h_.e_phoff, h_.e_phnum * sizeof(Elf64_Phdr));
    return {};
  }

  Bad segments() {
    bool has_load = false;
    for (const Elf64_Phdr& p : ph_) {
      if (p.p_type != PT_LOAD && p.p_type != PT_DYNAMIC) continue;
      if (p.p_offset > file_.size() || p.p_filesz > file_.size() - p.p_offset)
        return cut(p.p_type == PT_LOAD ? "a segment" : "the dynamic section", p.p_offset,
                   p.p_filesz);
      if (p.p_type == PT_LOAD && (p.p_filesz > p.p_memsz || p.p_vaddr > UINT64_MAX - p.p_memsz))
        return bad(fmt::format("has a segment of {} bytes that claims {} in the file", p.p_memsz,
                               p.p_filesz));
      if (p.p_type == PT_DYNAMIC) dyn_ = &p;
      has_load = has_load || p.p_type == PT_LOAD;
    }
    if (!has_load || !dyn_) return bad("has nothing to load", "link it with tenon_add_plugin()");
    return {};
  }

  /// Section headers are not needed, but they stand last in most files: they tell that the end is
  /// there.
  Bad sections() {
    const std::uint64_t n = std::uint64_t{h_.e_shnum} * h_.e_shentsize;
    if (h_.e_shoff != 0 && (h_.e_shoff > file_.size() || n > file_.size() - h_.e_shoff))
      return cut("the section header table", h_.e_shoff, n);
    return {};
  }

  Bad dynamic() {
    std::vector<Elf64_Dyn> entries;
    if (!table(dyn_->p_offset, dyn_->p_filesz / sizeof(Elf64_Dyn), entries))
      return bad("has an unreadable dynamic section");
    std::vector<std::uint64_t> needed;
    for (const Elf64_Dyn& d : entries) {
      if (d.d_tag == DT_NULL) break;
      switch (d.d_tag) {
        case DT_NEEDED:
          needed.push_back(d.d_un.d_val);
          break;
        case DT_STRSZ:
          strsz_ = d.d_un.d_val;
          break;
        case DT_STRTAB:
          strtab_ = d.d_un.d_ptr;
          break;
        case DT_SYMTAB:
          symtab_ = d.d_un.d_ptr;
          break;
        case DT_HASH:
          hash_ = d.d_un.d_ptr;
          break;
        case DT_GNU_HASH:
          gnu_hash_ = d.d_un.d_ptr;
          break;
        default:
          break;
      }
      // The loader follows these without a check of its own.
      constexpr Elf64_Sxword kPointers[] = {
          DT_STRTAB, DT_SYMTAB, DT_HASH,       DT_GNU_HASH,   DT_RELA,   DT_JMPREL, DT_PLTGOT,
          DT_INIT,   DT_FINI,   DT_INIT_ARRAY, DT_FINI_ARRAY, DT_VERSYM, DT_VERNEED};
      if (std::ranges::find(kPointers, d.d_tag) != std::end(kPointers) && !segment(d.d_un.d_ptr))
        return bad(fmt::format("dynamic entry {} points to {:#x}, outside every segment", d.d_tag,
                               d.d_un.d_ptr));
    }
    const auto at = offset_of(strtab_, strsz_);
    if (!at || !table(*at, strsz_, strings_) || strings_.empty() || strings_.back() != '\0')
      return bad("has no readable table of names");
    for (std::uint64_t n : needed) {
      if (n >= strings_.size())
        return bad(
            fmt::format("names a library at byte {} of {} bytes of names", n, strings_.size()));
      facts_.needed.emplace_back(&strings_[n]);
    }
    return {};
  }

  Bad symbols() {
    const auto count = symbol_count();
    std::vector<Elf64_Sym> syms;
    const auto at = count ? offset_of(symtab_, *count * sizeof(Elf64_Sym)) : std::nullopt;
    if (!at || !table(*at, *count, syms)) return bad("has no readable table of symbols");
    for (const Elf64_Sym& s : syms) {
      if (s.st_shndx == SHN_UNDEF || s.st_name == 0) continue;
      if (s.st_name >= strings_.size())
        return bad(fmt::format("names a symbol at byte {} of {} bytes of names", s.st_name,
                               strings_.size()));
      facts_.defined.emplace_back(&strings_[s.st_name]);
      if (facts_.defined.back() != "tenon_plugin") continue;
      if (const Elf64_Phdr* p = segment(s.st_value); p && s.st_value - p->p_vaddr < p->p_filesz) {
        facts_.descriptor_at = p->p_offset + (s.st_value - p->p_vaddr);
        facts_.descriptor_size = p->p_filesz - (s.st_value - p->p_vaddr);
      }
    }
    return {};
  }

  /// The dynamic symbol table has no length of its own; the hash tables over it do.
  std::optional<std::uint64_t> symbol_count() const {
    std::uint32_t head[4];  // DT_HASH: buckets, chains. DT_GNU_HASH: buckets, first hashed symbol,
                            // bloom words, shift
    if (hash_) {
      const auto at = offset_of(hash_, 8);
      if (!at || !file_.read(*at, head, 8)) return {};
      return head[1];
    }
    const auto at = offset_of(gnu_hash_, sizeof head);
    if (!gnu_hash_ || !at || !file_.read(*at, head, sizeof head)) return {};
    const std::uint64_t buckets_at = *at + sizeof head + std::uint64_t{head[2]} * 8;
    const std::uint64_t chains_at = buckets_at + std::uint64_t{head[0]} * 4;
    std::vector<std::uint32_t> buckets;
    if (!table(buckets_at, head[0], buckets)) return {};
    std::uint32_t last = 0;
    for (std::uint32_t b : buckets) last = std::max(last, b);
    if (last < head[1]) return head[1];
    for (std::uint32_t chain = 0;; ++last) {  // ends at the file's end at the latest
      if (!file_.read(chains_at + std::uint64_t{last - head[1]} * 4, &chain, 4)) return {};
      if (chain & 1) return std::uint64_t{last} + 1;
    }
  }

  const Elf64_Phdr* segment(std::uint64_t vaddr) const {
    for (const Elf64_Phdr& p : ph_)
      if (p.p_type == PT_LOAD && vaddr >= p.p_vaddr && vaddr - p.p_vaddr < p.p_memsz) return &p;
    return nullptr;
  }
  /// Where [vaddr, vaddr + n) stands in the file.
  std::optional<std::uint64_t> offset_of(std::uint64_t vaddr, std::uint64_t n) const {
    const Elf64_Phdr* p = segment(vaddr);
    if (!p || vaddr - p->p_vaddr > p->p_filesz || n > p->p_filesz - (vaddr - p->p_vaddr)) return {};
    return p->p_offset + (vaddr - p->p_vaddr);
  }

  const PluginFile& file_;
  Elf64_Ehdr h_{};
  std::vector<Elf64_Phdr> ph_;
  const Elf64_Phdr* dyn_ = nullptr;
  std::uint64_t strtab_ = 0, strsz_ = 0, symtab_ = 0, hash_ = 0, gnu_hash_ = 0;
  std::vector<char> strings_;
  ElfFacts facts_;
};

}  // namespace

Result<ElfFacts> read_elf(const PluginFile& file) { return Reader(file).run(); }

}  // namespace tenon::plugin_host
