# What lands on a machine. Component `program` runs, component `development` is the library (see
# export.cmake), and `sysconfig` is what only RPM systems have.
install(TARGETS perf_event_exporter RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)

# The units name the program and its configuration, of which only `cmake --install` knows the place.
file(GLOB units CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/systemd/*.service
     ${PROJECT_SOURCE_DIR}/systemd/*.socket)
set(default_config ${PROJECT_SOURCE_DIR}/config/perf_event_exporter.yaml)
set(environment ${PROJECT_SOURCE_DIR}/packaging/environment)
configure_file(cmake/install_program.cmake.in install_program.cmake @ONLY)
configure_file(cmake/install_sysconfig.cmake.in install_sysconfig.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/install_program.cmake COMPONENT program)
install(SCRIPT ${PROJECT_BINARY_DIR}/install_sysconfig.cmake COMPONENT sysconfig EXCLUDE_FROM_ALL)

# Documents link to what is installed only: tests/house/links_test.py.
file(GLOB root_documents CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.md)
file(GLOB documents CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md
     ${PROJECT_SOURCE_DIR}/docs/*.svg ${PROJECT_SOURCE_DIR}/docs/*.png)
install(FILES ${root_documents} LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT program)
install(DIRECTORY docs/development DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT program)
install(DIRECTORY config/examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/config
        COMPONENT program)
install(DIRECTORY systemd/examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/systemd
        COMPONENT program OPTIONAL)
install(DIRECTORY packaging/sysctl.d DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
        COMPONENT program)
foreach(kind grafana/*.json prometheus/*.yml prometheus/*.yaml collectors/*)
  file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/packaging/${kind})
  cmake_path(GET kind PARENT_PATH kind)
  install(FILES ${found} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/${kind} COMPONENT program)
endforeach()

# The library's own, which a machine that only compiles has without the program's.
set(library_documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/libperf-event-exporter-dev)
install(FILES docs/library.md docs/development/abi.md DESTINATION ${library_documents} COMPONENT development)
install(DIRECTORY tests/delivery/packages/consumer/ DESTINATION ${library_documents}/example
        COMPONENT development)

install(FILES packaging/completions/perf_event_exporter.bash RENAME perf_event_exporter
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions COMPONENT program)
install(FILES packaging/completions/_perf_event_exporter
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions COMPONENT program)

# Manual pages are written in scdoc. A build without it has none.
find_program(SCDOC scdoc)
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/packaging/man/*.scd)
if(NOT SCDOC)
  message(STATUS "scdoc is not found: manual pages are left out")
else()
  foreach(source ${pages})
    cmake_path(GET source STEM LAST_ONLY page)  # perf_event_exporter.8
    string(REGEX MATCH "[0-9]$" section ${page})
    add_custom_command(
      OUTPUT man/${page}
      COMMAND sh -c "mkdir -p man && '${SCDOC}' <'${source}' >man/${page}"
      DEPENDS ${source}
      WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
      VERBATIM)
    list(APPEND built_pages ${PROJECT_BINARY_DIR}/man/${page})
    # Who builds nothing but the program installs it without them.
    install(FILES ${PROJECT_BINARY_DIR}/man/${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
            COMPONENT program OPTIONAL)
  endforeach()
  add_custom_target(man ALL DEPENDS ${built_pages})
  add_dependencies(packaged man)
endif()
