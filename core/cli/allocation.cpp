// Memory of the process.
//
// operator new over mimalloc's malloc. mimalloc as a C library brings an operator new that ends the
// process where memory is out; a program that says what did not fit needs the exception.
//
// The heap is in pages of 2 MiB where the system has them: a graph of a million nodes is two
// million page faults otherwise, which take longer than compiling it. Reserved ones (hugetlb) are
// taken before transparent ones; MIMALLOC_LARGE_OS_PAGES=0 in the environment leaves both alone.
#include "core/cli/allocation.h"

#include <mimalloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

namespace {

template <class Allocate>
void* allocated(Allocate allocate) {
  for (;;) {
    if (void* p = allocate()) return p;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

constexpr std::size_t page = std::size_t{2} << 20;

/// mimalloc gives no large pages to a block of its own that is no multiple of them.
void* in_large_pages(void* p, std::size_t n) {
  if (n < 4 * page || !p || !mi_option_is_enabled(mi_option_large_os_pages)) return p;
  const auto first = reinterpret_cast<std::uintptr_t>(p);
  const std::uintptr_t from = (first + page - 1) / page * page, end = (first + n) / page * page;
  madvise(reinterpret_cast<void*>(from), end - from, MADV_HUGEPAGE);  // a hint: it may fail
  return p;
}

void* plain(std::size_t n) {
  return allocated([n] { return in_large_pages(mi_malloc(n), n); });
}
void* aligned(std::size_t n, std::align_val_t a) {
  return allocated([=] { return mi_malloc_aligned(n, static_cast<std::size_t>(a)); });
}

/// Not for `tenon run`, whose memory is the runtime's: what stands beside it is small, and counts
/// where the footprint of a model is looked at.
void use_large_pages(int argc, char** argv, char**) {
  if (argc > 1 && std::strcmp(argv[1], "run") == 0) return;
  mi_option_set_enabled_default(mi_option_large_os_pages, true);
  // Else the first memory of each thread is small pages, that of the main thread too once it has
  // taken over what a thread left.
  mi_option_set_default(mi_option_eager_commit_delay, 0);
}
// Before all constructors, as it is one of them that takes the first memory.
[[gnu::section(".preinit_array"), gnu::used]] void (*const at_start)(int, char**,
                                                                     char**) = use_large_pages;

}  // namespace

void* operator new(std::size_t n) { return plain(n); }
void* operator new[](std::size_t n) { return plain(n); }
void* operator new(std::size_t n, std::align_val_t a) { return aligned(n, a); }
void* operator new[](std::size_t n, std::align_val_t a) { return aligned(n, a); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return mi_malloc(n); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return mi_malloc(n); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return mi_malloc_aligned(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return mi_malloc_aligned(n, static_cast<std::size_t>(a));
}

void operator delete(void* p) noexcept { mi_free(p); }
void operator delete[](void* p) noexcept { mi_free(p); }
void operator delete(void* p, std::size_t) noexcept { mi_free(p); }
void operator delete[](void* p, std::size_t) noexcept { mi_free(p); }
void operator delete(void* p, std::align_val_t) noexcept { mi_free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { mi_free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { mi_free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { mi_free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { mi_free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { mi_free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { mi_free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { mi_free(p); }

void tenon::cli::give_back_memory() {
  constexpr std::size_t much = std::size_t{128} << 20;
  std::size_t resident = 0;
  mi_process_info(nullptr, nullptr, nullptr, &resident, nullptr, nullptr, nullptr, nullptr);
  if (resident > much) mi_collect(true);
}
