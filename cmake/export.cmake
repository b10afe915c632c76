# find_package(perf_event_exporter) and pkg-config for who links the library.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/perf_event_exporter)
get_property(rooms GLOBAL PROPERTY PEX_ROOMS)
get_property(room_needs GLOBAL PROPERTY PEX_ROOM_NEEDS)

install(EXPORT perf_event_exporter NAMESPACE perf_event_exporter::
        FILE perf_event_exporterTargets.cmake DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(
  cmake/perf_event_exporterConfig.cmake.in perf_event_exporterConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(perf_event_exporterConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/perf_event_exporterConfig.cmake
              ${PROJECT_BINARY_DIR}/perf_event_exporterConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)

# Linkers want a library before those that it needs.
set(room_libraries ${rooms})
list(REVERSE room_libraries)
list(TRANSFORM room_libraries PREPEND -lperf_event_exporter_)
if(PEX_WITH_LIBPFM)
  list(APPEND room_libraries -lpfm)
endif()
list(JOIN room_libraries " " room_libraries)
file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
configure_file(cmake/perf_event_exporter.pc.in perf_event_exporter.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/perf_event_exporter.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
