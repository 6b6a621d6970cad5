# The cache serves all clones: paths below the source directory are stored as relative paths. ccache's manual requires this
# sloppiness for precompiled headers.
find_program(RSSLAG_CCACHE_PROGRAM ccache)
if(RSSLAG_CCACHE_PROGRAM)
    set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
                 CCACHE_NOHASHDIR=1 ${RSSLAG_CCACHE_PROGRAM})
    set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
