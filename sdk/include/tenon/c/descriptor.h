/* What a plugin says of itself, as plain data in the ELF section `.tenon_plugin`. The host reads it
 * from the file, with bounds checks, before any code of the plugin can run: no pointers, no
 * relocations, no constructors.
 *
 * Usable as C99, C11 and C++. Authors do not write TN_DESCRIPTOR themselves: TENON_PLUGIN
 * (tenon/plugin.h, native tier) and TENON_PLANNER (tenon/c/planner.h, stable tier) do. Define
 * before the include, where they apply: TENON_PLUGIN_LICENCE "Apache-2.0"   TENON_PLUGIN_HOMEPAGE
 * "https://..."   TENON_PLUGIN_BUILD_ID "git hash" TENON_PLUGIN_FLAGS (TN_DETERMINISTIC |
 * TN_TOUCHES_GPU)                    TENON_PLUGIN_LLVM 19
 */
#ifndef TENON_C_DESCRIPTOR_H
#define TENON_C_DESCRIPTOR_H

#include <stdint.h>

#define TN_VERSION "0.1.0" /* of the headers; checked against the project's at configure time */
#define TN_ABI_MAJOR 0     /* descriptor and C++ interfaces; part of libtenon's soname */
#define TN_ABI_MINOR 1     /* 0.x: a native plugin needs the same minor */
#define TN_API 1     /* the C boundary (stable tier); grows by appending, older ones keep working */
#define TN_API_MIN 1 /* oldest host API that a plugin built with these headers can work with */
#define TN_SECTION ".tenon_plugin"

enum { TN_TIER_NATIVE = 1, TN_TIER_STABLE = 2 };

/* Kinds of things a plugin offers. 0 = not declared: the host has to load the plugin to know. */
enum {
  TN_KIND_FRONTEND = 1,
  TN_KIND_PASS = 2,
  TN_KIND_LOWERING = 4,
  TN_KIND_PLANNER = 8,
  TN_KIND_EXECUTOR = 16,
  TN_KIND_TARGET = 32,
  TN_KIND_VENDOR = 64,
  TN_KIND_OP = 128
};

enum { TN_NEEDS_EXCLUSIVE_PROCESS = 1, TN_TOUCHES_GPU = 2, TN_DETERMINISTIC = 4 };

enum { TN_STDLIB_NONE = 0, TN_STDLIB_GNU = 1, TN_STDLIB_LLVM = 2, TN_STDLIB_OTHER = 3 };
enum { TN_COMPILER_OTHER = 0, TN_COMPILER_GCC = 1, TN_COMPILER_CLANG = 2 };
enum { TN_SANITIZE_ADDRESS = 1, TN_SANITIZE_THREAD = 2 };

/* How the plugin was built. The hard fields must equal the host's on the native tier (all zero on
 * the stable tier, where nothing of C++ crosses); the soft ones are shown by `tenon plugin
 * inspect`. */
typedef struct tn_fingerprint {
  uint64_t sdk_hash; /* of all files of sdk/include */
  uint8_t stdlib, cxx11_abi, glibcxx_debug, rtti, exceptions;
  uint8_t size_string, size_vector, size_function, size_shared_ptr,
      size_optional; /* sizeof, bytes */
  uint8_t spare[6];
  /* soft */
  uint32_t compiler_version; /* major * 10000 + minor * 100 + patch */
  uint32_t language;         /* __STDC_VERSION__ or __cplusplus */
  uint32_t stdlib_date;      /* __GLIBCXX__ or _LIBCPP_VERSION */
  uint8_t compiler, ndebug, sanitizers, spare2;
} tn_fingerprint;

/* Appended to, never reordered. Strings are zero-terminated UTF-8; the compiler refuses one that is
 * too long. */
typedef struct tn_descriptor {
  char magic[8];        /* "TENONPL" and 0 */
  uint32_t struct_size; /* sizeof(tn_descriptor) of the plugin's headers */
  uint16_t abi_major, abi_minor;
  uint16_t api_min, api_built; /* stable tier: oldest and own C API */
  uint32_t tier;               /* TN_TIER_... */
  uint32_t kinds;              /* TN_KIND_... */
  uint32_t flags;              /* TN_NEEDS_EXCLUSIVE_PROCESS, ... */
  uint32_t llvm_major;         /* 0: does not touch LLVM */
  uint32_t spare;
  tn_fingerprint fingerprint;
  char id[48];      /* "acme" or "acme.first-fit": the part before the dot begins every id that the
                       plugin offers */
  char version[24]; /* of the plugin */
  char core_version[16]; /* TN_VERSION of the headers it was built with */
  char doc[128];         /* one line */
  char licence[32];      /* SPDX */
  char homepage[96];     /* URL */
  char build_id[48];     /* the author's: commit, build number */
} tn_descriptor;

#define TN_MAGIC \
  { 'T', 'E', 'N', 'O', 'N', 'P', 'L', 0 }

#if defined(__clang__)
#define TN_THIS_COMPILER TN_COMPILER_CLANG
#define TN_THIS_COMPILER_VERSION \
  (__clang_major__ * 10000u + __clang_minor__ * 100u + __clang_patchlevel__)
#elif defined(__GNUC__)
#define TN_THIS_COMPILER TN_COMPILER_GCC
#define TN_THIS_COMPILER_VERSION (__GNUC__ * 10000u + __GNUC_MINOR__ * 100u + __GNUC_PATCHLEVEL__)
#else
#define TN_THIS_COMPILER TN_COMPILER_OTHER
#define TN_THIS_COMPILER_VERSION 0u
#endif

#ifdef __cplusplus
#define TN_THIS_LANGUAGE ((uint32_t)__cplusplus)
#define TN_EXTERN_C extern "C"
#else
#define TN_THIS_LANGUAGE ((uint32_t)__STDC_VERSION__)
#define TN_EXTERN_C extern
#endif

#ifdef NDEBUG
#define TN_THIS_NDEBUG 1
#else
#define TN_THIS_NDEBUG 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define TN_THIS_SANITIZERS TN_SANITIZE_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define TN_THIS_SANITIZERS TN_SANITIZE_THREAD
#else
#define TN_THIS_SANITIZERS 0
#endif

/* The stable tier's: nothing of C++ to agree on. */
#define TN_FINGERPRINT_STABLE                                                                   \
  {                                                                                             \
    0, TN_STDLIB_NONE, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0}, TN_THIS_COMPILER_VERSION, \
        TN_THIS_LANGUAGE, 0, TN_THIS_COMPILER, TN_THIS_NDEBUG, TN_THIS_SANITIZERS, 0            \
  }

#ifndef TENON_PLUGIN_LICENCE
#define TENON_PLUGIN_LICENCE ""
#endif
#ifndef TENON_PLUGIN_HOMEPAGE
#define TENON_PLUGIN_HOMEPAGE ""
#endif
#ifndef TENON_PLUGIN_BUILD_ID
#define TENON_PLUGIN_BUILD_ID ""
#endif
#ifndef TENON_PLUGIN_FLAGS
#define TENON_PLUGIN_FLAGS TN_DETERMINISTIC
#endif
#ifndef TENON_PLUGIN_LLVM
#define TENON_PLUGIN_LLVM 0
#endif

#define TN_EXPORT __attribute__((visibility("default")))

/* Defines `tenon_plugin`. `fingerprint` is a macro that expands to an initialiser:
 * TN_FINGERPRINT_STABLE or, from tenon/plugin.h, TN_FINGERPRINT_NATIVE. Positional, so that C99 and
 * every C++ take it. */
#define TN_DESCRIPTOR(tier, kinds, id, version, doc, fingerprint)                                \
  TN_EXTERN_C TN_EXPORT const tn_descriptor tenon_plugin;                                        \
  const tn_descriptor tenon_plugin                                                               \
      __attribute__((section(TN_SECTION), used, aligned(8))) = {TN_MAGIC,                        \
                                                                (uint32_t)sizeof(tn_descriptor), \
                                                                TN_ABI_MAJOR,                    \
                                                                TN_ABI_MINOR,                    \
                                                                TN_API_MIN,                      \
                                                                TN_API,                          \
                                                                tier,                            \
                                                                (uint32_t)(kinds),               \
                                                                (uint32_t)(TENON_PLUGIN_FLAGS),  \
                                                                TENON_PLUGIN_LLVM,               \
                                                                0,                               \
                                                                fingerprint,                     \
                                                                id,                              \
                                                                version,                         \
                                                                TN_VERSION,                      \
                                                                doc,                             \
                                                                TENON_PLUGIN_LICENCE,            \
                                                                TENON_PLUGIN_HOMEPAGE,           \
                                                                TENON_PLUGIN_BUILD_ID}

#endif
