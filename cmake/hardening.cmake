# Hardening flags, since rsslag runs as root. Not used with sanitizers, which have checks of their own. PIE and full RELRO (relro,
# now) are set explicitly, because the defaults of compilers and linkers differ.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)

function(harden flag name)
    check_cxx_compiler_flag(${flag} ${name})
    if(${name})
        target_compile_options(rsslag_hardening INTERFACE ${flag})
    endif()
endfunction()

harden(-fstack-protector-strong RSSLAG_HAVE_STACK_PROTECTOR)
harden(-ftrivial-auto-var-init=zero RSSLAG_HAVE_AUTO_VAR_INIT)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|i.86|AMD64)$")
    harden(-fcf-protection RSSLAG_HAVE_CF_PROTECTION)
endif()

# _FORTIFY_SOURCE requires optimisation; without it, it only gives a warning. Level 3 requires support by the compiler and by the C
# library, which defines __USE_FORTIFY_LEVEL as the level that it uses.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
    check_cxx_source_compiles("#include <features.h>
        #if __USE_FORTIFY_LEVEL < 3
        #error not supported
        #endif
        int main() {}" RSSLAG_HAVE_FORTIFY_3)
    unset(CMAKE_REQUIRED_FLAGS)
    target_compile_options(rsslag_hardening INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$<IF:$<BOOL:${RSSLAG_HAVE_FORTIFY_3}>,3,2>)
endif()

# Objects for a shared library have POSITION_INDEPENDENT_CODE (add_module's PIC) and are compiled with -fPIC.
target_compile_options(rsslag_hardening INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:POSITION_INDEPENDENT_CODE>>>:-fPIE>)
if(RSSLAG_STATIC)
    set(pie -static-pie)
else()
    set(pie -pie)
endif()
target_link_options(rsslag_hardening INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${pie}> -Wl,-z,relro,-z,now)
