// How roles look, everywhere.
#ifndef TENON_CORE_PICTURE_ROLES_H
#define TENON_CORE_PICTURE_ROLES_H

#include <array>

#include "tenon/storage.h"

namespace tenon::picture {

struct RoleLook {
  Role role;
  const char* light;
  const char* dark;
  char letter;
};

/// Told apart by lightness too, for eyes that do not tell hues apart.
inline constexpr std::array<RoleLook, 7> kRoles{{{Role::input, "#9ecae1", "#5a9bd4", 'i'},
                                                 {Role::output, "#fdae6b", "#e08e45", 'o'},
                                                 {Role::constant, "#c9c9c4", "#8c8c88", 'c'},
                                                 {Role::state, "#bcbddc", "#9a8fd0", 't'},
                                                 {Role::activation, "#a1d99b", "#6fbf73", 'a'},
                                                 {Role::scratch, "#fff2a8", "#d9c74e", 's'},
                                                 {Role::worker, "#f4b6c2", "#d98a9a", 'w'}}};

/// Of a token: that of its first member; activation where nothing is known.
inline std::size_t look_of(const StorageToken& t) {
  const Role role = t.members.empty() ? Role::activation : t.members[0].role;
  for (std::size_t k = 0; k < kRoles.size(); ++k)
    if (kRoles[k].role == role) return k;
  return 4;
}

}  // namespace tenon::picture

#endif
