# Precompiled headers: of the standard library and fmt, which nearly every file includes; and of GoogleTest for the tests.
# nlohmann_json and CLI11 are not among them: reading a precompiled header of theirs costs GCC what it saves.
# A file includes what it uses all the same: clang-tidy reads each without these. GCC 12 takes long sums of strings for
# writes beyond a buffer when the string comes from such a header (-Warray-bounds): fmt::format says the same.
set(pch_headers <algorithm> <array> <charconv> <chrono> <cstdint> <deque> <fstream> <functional> <map> <memory> <optional>
                <set> <span> <sstream> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector>
                <fmt/format.h>)

# add_pch(NAME LIBRARIES ... HEADERS ...): a library that is nothing but its precompiled header.
function(add_pch name)
    cmake_parse_arguments(PCH "" "" "LIBRARIES;HEADERS" ${ARGN})
    if(NOT RSSLAG_PCH)
        return()
    endif()
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp CONTENT "" @ONLY)
    add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
    target_link_libraries(${name} PRIVATE rsslag_flags ${PCH_LIBRARIES})
    target_precompile_headers(${name} PRIVATE ${PCH_HEADERS})
endfunction()

# use_pch(TARGET NAME)
function(use_pch target name)
    if(RSSLAG_PCH)
        target_precompile_headers(${target} REUSE_FROM ${name})
    endif()
endfunction()

add_pch(rsslag_pch LIBRARIES fmt::fmt rsslag_hardening HEADERS ${pch_headers})
# GCC takes one only for the same kind of position independent code.
if(RSSLAG_PCH AND with_library)
    add_pch(rsslag_pch_pic LIBRARIES fmt::fmt rsslag_hardening HEADERS ${pch_headers})
    make_pic(rsslag_pch_pic)
endif()
