# tenon_add_plugin(<name> SOURCES ... [STABLE] [NO_INSTALL] [SUBDIR <dir>] [LIBS ...])
#
# Makes <name>.so. It exports exactly its `tenon_*` symbols, is never unloaded, and has every symbol resolved at link time.
# STABLE: the C boundary only (planners, vendors); needs Tenon::headers and does not link libtenon. Otherwise native: links
# Tenon::tenon. `cmake --install` puts it where a tenon of the same prefix finds it, unless NO_INSTALL is given. SUBDIR: in a
# folder below that, where no search looks: the half of a plugin with a heavy library, which the other half loads.
include(GNUInstallDirs)

function(tenon_add_plugin name)
  cmake_parse_arguments(P "STABLE;NO_INSTALL" "SUBDIR" "SOURCES;LIBS" ${ARGN})
  set(lib_dir "\$ORIGIN/../..")
  if(P_SUBDIR)
    set(lib_dir "\$ORIGIN/../../..")
  endif()
  add_library(${name} MODULE ${P_SOURCES})
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so"
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    BUILD_RPATH "\$ORIGIN;${lib_dir}" INSTALL_RPATH "\$ORIGIN;${lib_dir}")
  if(NOT DEFINED CMAKE_CXX_STANDARD)
    set_target_properties(${name} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  endif()
  if(P_STABLE)
    target_link_libraries(${name} PRIVATE Tenon::headers)
    set(build_dir ${TENON_PLUGIN_DIR_STABLE})
    set(tier stable)
  else()
    # The host asks for this dependency, also of a plugin that happens to call nothing of libtenon.
    target_link_libraries(${name} PRIVATE -Wl,--push-state,--no-as-needed Tenon::tenon -Wl,--pop-state)
    set(build_dir ${TENON_PLUGIN_DIR_NATIVE})
    set(tier abi-${TENON_ABI})
  endif()
  if(build_dir)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${build_dir}/${P_SUBDIR})
  endif()
  if(P_LIBS)
    target_link_libraries(${name} PRIVATE ${P_LIBS})
  endif()
  target_compile_options(${name} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fno-gnu-unique>)
  set(map ${CMAKE_CURRENT_BINARY_DIR}/${name}.map)
  file(CONFIGURE OUTPUT ${map} CONTENT "{ global: tenon_*; local: *; };\n")
  target_link_options(${name} PRIVATE -Wl,-z,nodelete -Wl,--exclude-libs,ALL -Wl,--version-script=${map})
  if(NOT TENON_SANITIZE)  # the sanitizers' run time comes with the executable
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  if(NOT P_NO_INSTALL)
    install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon/${tier}/${P_SUBDIR})
  endif()
endfunction()
