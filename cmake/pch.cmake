# Precompiled headers of the standard library and of fmt, which nearly every file includes, and of GoogleTest for the tests.
# nlohmann_json and CLI11 are not among them: GCC needs as much time to load their precompiled headers as it saves. Each file must
# still include what it uses, because clang-tidy runs without precompiled headers. If std::string comes from a precompiled header,
# GCC 12 reports long concatenations as writes beyond a buffer (-Warray-bounds). fmt::format avoids this.
set(pch_headers <algorithm> <array> <charconv> <chrono> <cstdint> <deque> <fstream> <functional> <map> <memory> <optional>
                <set> <span> <sstream> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector>
                <fmt/format.h>)

# add_pch(NAME LIBRARIES ... HEADERS ...): a library that consists only of a precompiled header.
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

# use_pch(TARGET NAME): TARGET uses the precompiled header of NAME.
function(use_pch target name)
    if(RSSLAG_PCH)
        target_precompile_headers(${target} REUSE_FROM ${name})
    endif()
endfunction()

add_pch(rsslag_pch LIBRARIES fmt::fmt rsslag_hardening HEADERS ${pch_headers})
add_pch(rsslag_pch_size LIBRARIES fmt::fmt rsslag_hardening HEADERS ${pch_headers})
if(RSSLAG_PCH)
    target_compile_options(rsslag_pch_size PRIVATE ${optimise_size})
endif()
# GCC uses a precompiled header only with the same flag for position-independent code (-fPIE or -fPIC).
if(RSSLAG_PCH AND with_library)
    add_pch(rsslag_pch_pic LIBRARIES fmt::fmt rsslag_hardening HEADERS ${pch_headers})
    make_pic(rsslag_pch_pic)
endif()
