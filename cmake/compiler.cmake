# One place for what every target of ours is compiled with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                    -Wold-style-cast)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 19)
  add_compile_options(-Wno-missing-designated-field-initializers)  # fields that are left out have defaults
endif()
add_compile_options(-pthread)  # as some libraries ask: a precompiled header is for all or none
if(PEX_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ spends a sixteenth of its time on collecting garbage; this takes it an eighth more of memory.
  add_compile_options("SHELL:--param ggc-min-heapsize=524288")
endif()
if(PEX_SANITIZERS)
  add_compile_options(-fsanitize=${PEX_SANITIZERS} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  if(PEX_SANITIZERS MATCHES "thread")
    add_compile_definitions(PEX_THREAD_SANITIZER)
  endif()
  if(PEX_SANITIZERS MATCHES "undefined")
    # It looks at objects through a pipe, and takes them all for bad where no descriptor is left, which
    # the tests of that bring about.
    add_compile_options(-fno-sanitize=vptr)
    # A sixth of the time of a compiler. Address finds a null pointer as well, and the fuzzers, which
    # are no debug build, find misaligned bytes of others.
    add_compile_options("$<$<CONFIG:Debug>:-fno-sanitize=null,alignment>")
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # With sanitizers g++ takes members of optionals for uninitialized (GCC manual,
    # "Instrumentation Options"). Builds without sanitizers still warn.
    add_compile_options(-Wno-maybe-uninitialized)
    if(PEX_SANITIZERS MATCHES "thread")
      add_compile_options(-Wno-tsan)  # of the fences in Asio, which it does not see through
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options(-fno-sanitize=function)  # clang 14 cannot emit its marks into coroutines
  endif()
  add_link_options(-fsanitize=${PEX_SANITIZERS})
  # There are some forty programs, and GNU ld takes four times as long for each.
  find_program(PEX_LLD ld.lld)
  if(PEX_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_link_options(-fuse-ld=lld -Wl,--build-id=sha1)  # of 20 bytes, as GNU ld makes it
  endif()
endif()

# What a bug in memory could be used for, made harder in what is shipped: a write past a buffer or into
# the tables of other libraries' functions ends the program. The flags of a distribution that builds
# a package come first. Debug builds and sanitizers find such a write by themselves.
option(PEX_HARDENING "Protect stack, buffers and relocations in optimised builds" ON)
if(PEX_HARDENING AND NOT PEX_SANITIZERS)
  include(CheckCXXCompilerFlag)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES CXX)
  set(optimised "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")
  foreach(protection -fstack-protector-strong -fstack-clash-protection)
    string(MAKE_C_IDENTIFIER "has${protection}" has_it)
    check_cxx_compiler_flag(${protection} ${has_it})
    if(${has_it})
      add_compile_options("$<${optimised}:${protection}>")
    endif()
  endforeach()
  if(NOT CMAKE_CXX_FLAGS MATCHES "_FORTIFY_SOURCE")
    add_compile_definitions("$<${optimised}:_FORTIFY_SOURCE=2>")
  endif()
  add_link_options("$<${optimised}:-Wl,-z,relro,-z,now,-z,noexecstack>")
  # Packages depend on what the program uses (packaging/dependencies/run.txt). Debian's g++ does this by
  # itself, other compilers do not.
  add_link_options("$<${optimised}:-Wl,--as-needed>")
endif()

# Fast repeat builds where ccache is present; nothing depends on it. It remembers files by their paths
# below this tree and whatever the locale: the image finds what was compiled for the tests.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER sh ${PROJECT_SOURCE_DIR}/cmake/ccache.sh
                                  env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                  CCACHE_SLOPPINESS=locale,pch_defines,time_macros ${CCACHE})
endif()
