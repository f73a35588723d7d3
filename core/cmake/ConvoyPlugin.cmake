# convoy_add_plugin(): a shared library that the runner finds, checks and loads. Used in this tree and, installed, by
# third parties through find_package(Convoy).
#
#   convoy_add_plugin(toynet PROVIDES model:toynet [kind:name ...] VERSION 0.1.0 SOURCES toynet.cpp
#                     [VENDOR text] [DEPENDS libraries...] [LAUNCH_ENV VAR...] [ISA feature...] [GLOBAL_LIBS so...]
#                     [TEST_ONLY])
#
# makes toynet.convoy.so with exactly two exports, the entry point and the manifest. The built file is checked as the
# runner checks it, and loaded once, unless CONVOY_CHECK_PLUGINS is OFF.

option(CONVOY_CHECK_PLUGINS "Check each plugin with the runner once it is built; OFF where it cannot be loaded" ON)

function(convoy_plugin_manifest target out_file)
  cmake_parse_arguments(arg "" "VERSION;VENDOR" "PROVIDES;LAUNCH_ENV;ISA;GLOBAL_LIBS" ${ARGN})
  if("${ARGN}" MATCHES "[\"\\\n\r]")
    message(FATAL_ERROR "convoy_add_plugin(${target}): the manifest's values hold no quotes, backslashes or line breaks")
  endif()
  list(JOIN arg_PROVIDES ";" manifest_provides)
  list(JOIN arg_LAUNCH_ENV "," manifest_launch_env)
  list(JOIN arg_ISA "," manifest_isa)
  list(JOIN arg_GLOBAL_LIBS "," manifest_global_libs)
  set(manifest_name ${target})
  set(manifest_version ${arg_VERSION})
  set(manifest_vendor "${arg_VENDOR}")
  string(TOLOWER "${CMAKE_CXX_COMPILER_ID}" compiler)
  if(compiler STREQUAL "gnu")
    set(compiler "g++")
  elseif(compiler STREQUAL "clang")
    set(compiler "clang++")
  endif()
  set(manifest_toolchain "${compiler} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu libstdc++")
  set(manifest_source "")
  find_program(CONVOY_GIT git)
  if(CONVOY_GIT)
    execute_process(COMMAND ${CONVOY_GIT} -C ${CMAKE_CURRENT_SOURCE_DIR} describe --always --dirty --abbrev=12
                    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(described)
      set(manifest_source "git ${described}")
    endif()
  endif()
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/manifest.cpp.in ${out_file} @ONLY)
endfunction()

function(convoy_add_plugin target)
  cmake_parse_arguments(arg "TEST_ONLY" "VERSION;VENDOR" "PROVIDES;SOURCES;DEPENDS;LAUNCH_ENV;ISA;GLOBAL_LIBS" ${ARGN})
  if(NOT arg_PROVIDES OR NOT arg_SOURCES OR NOT arg_VERSION)
    message(FATAL_ERROR "convoy_add_plugin(${target}): PROVIDES, VERSION and SOURCES are required")
  endif()
  set(manifest ${CMAKE_CURRENT_BINARY_DIR}/${target}_manifest.cpp)
  convoy_plugin_manifest(${target} ${manifest} VERSION ${arg_VERSION} VENDOR "${arg_VENDOR}"
                         PROVIDES ${arg_PROVIDES} LAUNCH_ENV ${arg_LAUNCH_ENV} ISA ${arg_ISA}
                         GLOBAL_LIBS ${arg_GLOBAL_LIBS})
  set(library ${target}_plugin)
  add_library(${library} MODULE ${arg_SOURCES} ${manifest})
  target_compile_features(${library} PRIVATE cxx_std_17)
  target_compile_options(${library} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  target_link_options(${library} PRIVATE -Wl,-z,nodelete -Wl,--build-id
                      -Wl,--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin_exports.map)
  if(NOT CONVOY_SANITIZER OR CONVOY_SANITIZER STREQUAL "none")
    target_link_options(${library} PRIVATE -Wl,-z,defs)  # a sanitizer's runtime comes with the program
  endif()
  set_target_properties(${library} PROPERTIES
    PREFIX "" SUFFIX ".convoy.so" OUTPUT_NAME ${target}
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    BUILD_RPATH "\$ORIGIN" INSTALL_RPATH "\$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
  if(arg_TEST_ONLY)
    set_target_properties(${library} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/plugins/${target})
  else()
    set_target_properties(${library} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/convoy/plugins)
    install(TARGETS ${library} LIBRARY DESTINATION lib/convoy/plugins)
  endif()
  if(TARGET convoy::sdk)  # in the tree; its root checks the plugins, when there is a runner
    target_link_libraries(${library} PRIVATE convoy::sdk convoy_flags)
    if(NOT arg_TEST_ONLY)
      set_property(GLOBAL APPEND PROPERTY CONVOY_PLUGINS ${library})
    endif()
  else()
    target_link_libraries(${library} PRIVATE Convoy::sdk)
    if(CONVOY_CHECK_PLUGINS AND TARGET Convoy::runner AND NOT CMAKE_CROSSCOMPILING)
      add_custom_command(TARGET ${library} POST_BUILD COMMAND Convoy::runner plugins --check $<TARGET_FILE:${library}>
                         VERBATIM)
    endif()
  endif()
  target_link_libraries(${library} PRIVATE ${arg_DEPENDS})
endfunction()
