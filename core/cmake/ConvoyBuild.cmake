# How this source tree builds: the core's libraries, tests and fuzz targets. Not installed.

find_program(CONVOY_CCACHE ccache)
if(CONVOY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CONVOY_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CONVOY_CCACHE})
endif()

# Warnings and sanitizers of our own targets.
add_library(convoy_flags INTERFACE)
target_compile_options(convoy_flags INTERFACE -Wall -Wextra)
if(CONVOY_ASSERTIONS)
  target_compile_definitions(convoy_flags INTERFACE CONVOY_ASSERTIONS=1)
endif()
if(CONVOY_SANITIZER STREQUAL "address")
  # Without vptr: an object from a plugin that was built without RTTI has no type to look at.
  target_compile_options(convoy_flags INTERFACE -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined
                                                -fno-omit-frame-pointer)
  target_link_options(convoy_flags INTERFACE -fsanitize=address,undefined)
elseif(CONVOY_SANITIZER STREQUAL "thread")
  target_compile_options(convoy_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(convoy_flags INTERFACE -fsanitize=thread)
elseif(NOT CONVOY_SANITIZER STREQUAL "none")
  message(FATAL_ERROR "CONVOY_SANITIZER is '${CONVOY_SANITIZER}'; known are none, address, thread")
endif()

# Every folder below `group` that holds a CMakeLists.txt: a new model, backend or plugin is a folder, no edit here.
function(convoy_add_folders group)
  file(GLOB lists CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${group}/*/CMakeLists.txt)
  foreach(list ${lists})
    get_filename_component(folder ${list} DIRECTORY)
    add_subdirectory(${folder})
  endforeach()
endfunction()

# convoy_add_core(<dir> SOURCES ... [DEPENDS ...]): static library convoy_<dir>, alias convoy::<dir>.
function(convoy_add_core dir)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(convoy_${dir} STATIC ${arg_SOURCES})
  add_library(convoy::${dir} ALIAS convoy_${dir})
  set_target_properties(convoy_${dir} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                 VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(convoy_${dir} PUBLIC convoy::headers ${arg_DEPENDS} PRIVATE convoy_flags)
endfunction()

# convoy_add_test(<target> SOURCES ... [DEPENDS ...] [LABELS ...] [TIMEOUT s]): a doctest program and its ctest.
function(convoy_add_test target)
  if(NOT CONVOY_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT TARGET convoy_doctest_main)
    add_library(convoy_doctest_main OBJECT ${CMAKE_SOURCE_DIR}/tests/doctest_main.cpp)
    target_link_libraries(convoy_doctest_main PUBLIC doctest::doctest PRIVATE convoy_flags)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${target} ${arg_SOURCES} $<TARGET_OBJECTS:convoy_doctest_main>)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE CONVOY_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                               CONVOY_BUILD_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${target} PRIVATE convoy_flags doctest::doctest ${arg_DEPENDS})
  add_test(NAME ${target} COMMAND ${target})
  set_tests_properties(${target} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()

# Target `plugins`: every plugin of the tree. Target `check_plugins`, part of a whole build: each of them, checked and
# loaded once by the runner that was built with them. Not a step behind each link, or a plugin would wait for the core.
function(convoy_finish_plugins)
  get_property(libraries GLOBAL PROPERTY CONVOY_PLUGINS)
  add_custom_target(plugins DEPENDS ${libraries})
  if(NOT CONVOY_CHECK_PLUGINS OR NOT TARGET runner OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(stamps "")
  foreach(library ${libraries})
    set(stamp ${CMAKE_BINARY_DIR}/checked/${library})
    add_custom_command(OUTPUT ${stamp} COMMAND runner plugins --check $<TARGET_FILE:${library}>
                       COMMAND ${CMAKE_COMMAND} -E touch ${stamp} DEPENDS runner ${library}
                       COMMENT "Checking plugin ${library}" VERBATIM)
    list(APPEND stamps ${stamp})
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/checked)
  add_custom_target(check_plugins ALL DEPENDS ${stamps})
endfunction()
