# `cpack -G RPM` and `cpack -G TGZ` in a build tree. The .deb is made by packaging/debian.
# Both hold component `program` alone: a static library is of use only where it was built.
set(CPACK_PACKAGE_NAME perf-event-exporter)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "The perf_event_exporter authors")
set(CPACK_PACKAGE_CONTACT "The perf_event_exporter authors <noreply@perf-event-exporter.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_DESCRIPTION_FILE ${PROJECT_SOURCE_DIR}/packaging/rpm/description.txt)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR RPM TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_MONOLITHIC_INSTALL ON)
set(CPACK_PEX_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR})  # for that file
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/cpack_generator.cmake)

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_PACKAGE_RELOCATABLE OFF)
set(CPACK_RPM_SPEC_MORE_DEFINE
    "%define packager ${CPACK_PACKAGE_CONTACT}\n%define _build_id_links none")
set(CPACK_RPM_PACKAGE_GROUP System/Monitoring)
set(CPACK_RPM_POST_INSTALL_SCRIPT_FILE ${PROJECT_SOURCE_DIR}/packaging/rpm/post.sh)
set(CPACK_RPM_PRE_UNINSTALL_SCRIPT_FILE ${PROJECT_SOURCE_DIR}/packaging/rpm/preun.sh)
set(CPACK_RPM_POST_UNINSTALL_SCRIPT_FILE ${PROJECT_SOURCE_DIR}/packaging/rpm/postun.sh)
set(CPACK_RPM_USER_FILELIST
    "%config(noreplace) /etc/perf_event_exporter/perf_event_exporter.yaml"
    "%config(noreplace) /etc/sysconfig/perf_event_exporter")
# Directories that belong to the system.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
    /etc /etc/sysconfig /usr /usr/bin /usr/lib /usr/lib/systemd /usr/lib/systemd/system /usr/share
    /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/doc /usr/share/man
    /usr/share/man/man5 /usr/share/man/man8 /usr/share/zsh /usr/share/zsh/site-functions)
include(CPack)
