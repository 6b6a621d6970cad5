# RSSLAG_STATIC: one program that runs on any Linux machine, for distributions without packages of rsslag. It links the archive of
# each library. Debian has no archives of fmt and spdlog, so these are used as header-only libraries.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(with_library OFF)

find_path(RSSLAG_FMT_HEADERS fmt/format.h REQUIRED)
add_library(fmt::fmt INTERFACE IMPORTED)
target_include_directories(fmt::fmt INTERFACE ${RSSLAG_FMT_HEADERS})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
add_library(spdlog::spdlog INTERFACE IMPORTED)
target_compile_definitions(spdlog::spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_link_libraries(spdlog::spdlog INTERFACE fmt::fmt)

# archive_needs(TARGET LIBRARY ...): an archive does not record the libraries that it depends on; a shared library does.
function(archive_needs target)
    if(TARGET ${target})
        set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${ARGN})
    endif()
endfunction()
