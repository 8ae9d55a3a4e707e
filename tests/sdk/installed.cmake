# Installs into a fresh prefix, moves that elsewhere, builds every template with nothing but the moved prefix, and loads
# what came out. Run: cmake -DBUILD=... -DSOURCE=... -DLIBDIR=lib -DWORK=<scratch folder> -DPROBE=<exe> -P installed.cmake
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}\nended with ${code}:\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

function(expect text)
  string(FIND "${output}" "${text}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "expected '${text}' in:\n${output}")
  endif()
endfunction()

# template(<name> <prefix> <file it makes>): builds a copy of the folder; sets `plugin`.
function(template name prefix file)
  file(COPY ${prefix_template}/${name} DESTINATION ${WORK}/src)
  run(${CMAKE_COMMAND} -G Ninja -S ${WORK}/src/${name} -B ${WORK}/build/${name} -DCMAKE_PREFIX_PATH=${prefix}
      -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF -DCMAKE_BUILD_TYPE=Release
      "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror ${extra}" "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror ${extra}")
  run(${CMAKE_COMMAND} --build ${WORK}/build/${name})
  set(plugin ${WORK}/build/${name}/${file} PARENT_SCOPE)
  if(NOT EXISTS ${WORK}/build/${name}/${file})
    message(FATAL_ERROR "template ${name} did not make ${file}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(MAKE_DIRECTORY ${WORK}/moved)
file(RENAME ${WORK}/first ${WORK}/moved/tenon)
set(prefix ${WORK}/moved/tenon)
set(prefix_template ${prefix}/share/tenon/template)
set(ENV{LD_LIBRARY_PATH} ${prefix}/${LIBDIR})
set(probe ${PROBE} ${prefix}/${LIBDIR})

file(GLOB_RECURSE texts ${prefix}/*.cmake ${prefix}/*.h)
foreach(f IN LISTS texts)
  file(READ ${f} text)
  foreach(place ${BUILD} ${SOURCE} ${WORK})
    string(FIND "${text}" "${place}/" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${f} names ${place}: the prefix cannot be moved")
    endif()
  endforeach()
endforeach()

# The stable tier needs headers and the package files, no library at all.
file(COPY ${prefix}/include DESTINATION ${WORK}/headers)
file(COPY ${prefix}/${LIBDIR}/cmake DESTINATION ${WORK}/headers/${LIBDIR})
set(extra "")
template(planner-c ${WORK}/headers acme-first-fit-c.so)
run(${probe} ${plugin})
expect("planner acme.first-fit-c plans")
template(planner-cpp ${WORK}/headers acme-first-fit.so)
run(${probe} ${plugin})
expect("planner acme.first-fit plans")

template(pass ${prefix} acme-passes.so)
set(pass ${plugin})
run(${probe} ${plugin})
expect("pass acme.neg-neg")
template(op ${prefix} acme-ops.so)
run(${probe} ${plugin} ${pass})
expect("op acme.window_max_diff")
expect("pass acme.neg-neg")

# A plugin installed into the prefix stands where the search finds it.
run(${CMAKE_COMMAND} --install ${WORK}/build/planner-cpp --prefix ${prefix})
file(GLOB found ${prefix}/${LIBDIR}/tenon/stable/acme-first-fit.so)
if(NOT found)
  message(FATAL_ERROR "acme-first-fit.so was not installed into ${prefix}/${LIBDIR}/tenon/stable")
endif()

# Built with other settings, the pass is refused, and the message names the setting.
file(REMOVE_RECURSE ${WORK}/build/pass)
set(extra "-fno-rtti")
template(pass ${prefix} acme-passes.so)
execute_process(COMMAND ${probe} ${plugin} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
expect("error[TN1005]")
expect("another RTTI: without, this tenon: with")
file(REMOVE_RECURSE ${WORK})
message(STATUS "installed package: ok")
