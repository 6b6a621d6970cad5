# RSSLAG_STATIC: one program that asks nothing of the machine it runs on but Linux, for where there are no packages. Each library
# comes from its archive; fmt and spdlog, of which Debian has none, are headers as well.
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

# What an archive needs, which a shared library knows of itself.
function(archive_needs target)
    if(TARGET ${target})
        set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${ARGN})
    endif()
endfunction()
