# One place for what every target of ours is compiled with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                    -Wold-style-cast)
if(PEX_WERROR)
  add_compile_options(-Werror)
endif()
if(PEX_SANITIZERS)
  add_compile_options(-fsanitize=${PEX_SANITIZERS} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  if(PEX_SANITIZERS MATCHES "undefined")
    # It looks at objects through a pipe, and takes them all for bad where no descriptor is left, which
    # the tests of that bring about.
    add_compile_options(-fno-sanitize=vptr)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options(-fno-sanitize=function)  # clang 14 cannot emit its marks into coroutines
  endif()
  if(PEX_SANITIZERS MATCHES "thread")
    add_compile_options(-Wno-tsan)  # g++ warns of the fences in Asio, which it does not see through
  endif()
  add_link_options(-fsanitize=${PEX_SANITIZERS})
endif()

# Fast repeat builds where ccache is present; nothing depends on it.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
