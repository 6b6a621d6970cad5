# What was compiled before, in this clone or in another, is not compiled again. ccache's manual asks for this sloppiness where
# headers are precompiled; paths below this tree are the same in all clones.
find_program(RSSLAG_CCACHE_PROGRAM ccache)
if(RSSLAG_CCACHE_PROGRAM)
    set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
                 CCACHE_NOHASHDIR=1 ${RSSLAG_CCACHE_PROGRAM})
    set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
