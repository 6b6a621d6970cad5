# Files of `cmake --install`. Components: `rsslag` has the program, its debug symbols and its documents; `dev` has the header for
# BPF programs of other projects; `library`, `library-dev` and `python` have librsslag.
include(GNUInstallDirs)

option(RSSLAG_SPLIT_DEBUG "Install stripped binaries and separate debug symbols; OFF if the packager does this" ON)
set(RSSLAG_BASH_COMPLETIONS "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" CACHE STRING "Directory of bash completions")
set(RSSLAG_ZSH_COMPLETIONS "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" CACHE STRING "Directory of zsh completions")
set(RSSLAG_FISH_COMPLETIONS "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" CACHE STRING "Directory of fish completions")
set(RSSLAG_UNITS "lib/systemd/system" CACHE STRING "Directory of systemd units; a relative path is below the prefix")

install(TARGETS rsslag RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT rsslag)
# split_debug(TARGET PATH COMPONENT): strips the file installed as PATH and installs its debug symbols as a separate file.
# Debuggers find it by the build ID, which both files contain.
function(split_debug target path component)
    target_link_options(${target} PRIVATE -Wl,--build-id)
    if(RSSLAG_SPLIT_DEBUG AND CMAKE_OBJCOPY AND CMAKE_STRIP AND CMAKE_READELF)
        install(CODE "
            set(binary \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${path}\")
            set(OBJCOPY \"${CMAKE_OBJCOPY}\")
            set(STRIP \"${CMAKE_STRIP}\")
            set(READELF \"${CMAKE_READELF}\")
            include(\"${PROJECT_SOURCE_DIR}/cmake/split_debug.cmake\")" COMPONENT ${component})
    endif()
endfunction()
split_debug(rsslag "${CMAKE_INSTALL_BINDIR}/rsslag" rsslag)
if(TARGET librsslag)
    split_debug(librsslag "${CMAKE_INSTALL_LIBDIR}/librsslag.so.${PROJECT_VERSION}" library)
    install(FILES docs/library.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs" COMPONENT library)
    # The dynamic linker finds a library below /usr/local only through its cache. Other users than root cannot write it.
    install(CODE "
        if(\"\$ENV{DESTDIR}\" STREQUAL \"\")
            execute_process(COMMAND ldconfig RESULT_VARIABLE ignored OUTPUT_QUIET ERROR_QUIET)
        endif()" COMPONENT library)
endif()

# Units contain the installed path of the program. --prefix may change it at installation, so it is inserted then.
foreach(unit rsslag-mount.service rsslag-serve.service rsslag-serve.socket)
    install(CODE "
        set(units \"${RSSLAG_UNITS}\")
        file(READ \"${PROJECT_SOURCE_DIR}/share/${unit}\" text)
        string(REPLACE /usr/bin/ \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/\" text \"\${text}\")
        file(WRITE \"${PROJECT_BINARY_DIR}/units/${unit}\" \"\${text}\")
        cmake_path(ABSOLUTE_PATH units BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
        file(INSTALL \"${PROJECT_BINARY_DIR}/units/${unit}\" DESTINATION \"\${units}\")"
        COMPONENT rsslag)
endforeach()

install(FILES share/completions/rsslag.bash DESTINATION "${RSSLAG_BASH_COMPLETIONS}" RENAME rsslag COMPONENT rsslag)
install(FILES share/completions/rsslag.zsh DESTINATION "${RSSLAG_ZSH_COMPLETIONS}" RENAME _rsslag COMPONENT rsslag)
install(FILES share/completions/rsslag.fish DESTINATION "${RSSLAG_FISH_COMPLETIONS}" COMPONENT rsslag)
install(DIRECTORY docs/man/ DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT rsslag)
install(DIRECTORY docs/schema share/prometheus share/grafana share/sql docs/recordings
        DESTINATION "${CMAKE_INSTALL_DATADIR}/rsslag" COMPONENT rsslag)
# In the folders that the links between them name.
install(FILES README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT rsslag)
install(FILES docs/words.md docs/kernel.md docs/format.md docs/fleet.md docs/reading.md docs/peak.md docs/stacks.md docs/performance.md
              docs/architecture.md docs/screen.svg
        DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs" COMPONENT rsslag)
install(FILES include/rsslag/exact_rss.bpf.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/rsslag" COMPONENT dev)
install(FILES examples/exact_rss.bpf.c DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples" COMPONENT dev)
