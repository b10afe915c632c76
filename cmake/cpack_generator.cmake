# Read by CPack once for each kind of package.
set(tree ${CPACK_BUILD_SOURCE_DIRS})
list(GET tree 1 tree)  # the build tree; the first is the source
set(program "${tree};perf_event_exporter;program;/")

if(CPACK_GENERATOR STREQUAL "RPM")
  set(CPACK_INSTALL_CMAKE_PROJECTS "${program};${tree};perf_event_exporter;sysconfig;/")
  set(CPACK_SET_DESTDIR ON)  # there are files outside of the prefix
  set(CPACK_INSTALL_PREFIX /usr)
else()
  # Runs where it is unpacked; its units are for `tar --strip-components=1 -C /usr/local`.
  set(CPACK_INSTALL_CMAKE_PROJECTS "${program}")
  set(CPACK_CUSTOM_INSTALL_VARIABLES PEX_RUN_PREFIX=/usr/local)
  set(architecture ${CPACK_PEX_ARCHITECTURE})
  string(REGEX REPLACE "^x86_64$" amd64 architecture ${architecture})  # as archives of Go have it
  string(REGEX REPLACE "^aarch64$" arm64 architecture ${architecture})
  set(CPACK_PACKAGE_FILE_NAME
      "perf_event_exporter-${CPACK_PACKAGE_VERSION}.linux-${architecture}")
endif()
