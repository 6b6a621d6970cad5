# What `cmake --install` puts where. Component `rsslag` is what runs and is read, with its debug symbols; `dev` is the header for
# BPF programs of others; `library`, `library-dev` and `python` are librsslag's.
include(GNUInstallDirs)

option(RSSLAG_SPLIT_DEBUG "Install the binary stripped, its debug symbols apart: OFF where a packager does that" ON)
set(RSSLAG_BASH_COMPLETIONS "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" CACHE STRING "Where bash looks")
set(RSSLAG_ZSH_COMPLETIONS "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" CACHE STRING "Where zsh looks")
set(RSSLAG_FISH_COMPLETIONS "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" CACHE STRING "Where fish looks")
set(RSSLAG_UNITS "lib/systemd/system" CACHE STRING "Where systemd looks for units; what is no absolute path is below the prefix")

install(TARGETS rsslag RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT rsslag)
# split_debug(TARGET PATH COMPONENT): what is installed as PATH is stripped, its symbols lie apart. Debuggers find them by the build
# ID that is in both.
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
    install(FILES docs/library.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT library)
endif()

# Units name the program by where it was installed, which --prefix says at last.
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
install(FILES README.md docs/words.md docs/kernel.md docs/format.md docs/fleet.md docs/reading.md docs/peak.md docs/performance.md
        DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT rsslag)
install(FILES include/rsslag/exact_rss.bpf.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/rsslag" COMPONENT dev)
install(FILES examples/exact_rss.bpf.c DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples" COMPONENT dev)
