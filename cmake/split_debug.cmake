# Moves the debug symbols of ${binary} to lib/debug/.build-id/NN/REST.debug below the prefix, where NNREST is the build ID.
# Requires OBJCOPY, STRIP, READELF, CMAKE_INSTALL_PREFIX and the environment variable DESTDIR, as they are set during an
# installation.
function(run_or_fail)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

execute_process(COMMAND "${READELF}" --notes "${binary}" OUTPUT_VARIABLE notes COMMAND_ERROR_IS_FATAL ANY)
if(NOT notes MATCHES "Build ID: ([0-9a-f][0-9a-f])([0-9a-f]+)")
    message(FATAL_ERROR "${binary} has no build ID")
endif()
set(directory "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/debug/.build-id/${CMAKE_MATCH_1}")
set(symbols "${directory}/${CMAKE_MATCH_2}.debug")
file(MAKE_DIRECTORY "${directory}")
run_or_fail("${OBJCOPY}" --only-keep-debug "${binary}" "${symbols}")
run_or_fail("${STRIP}" --strip-unneeded --remove-section=.comment --remove-section=.note "${binary}")
run_or_fail("${OBJCOPY}" "--add-gnu-debuglink=${symbols}" "${binary}")
file(CHMOD "${symbols}" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${CMAKE_INSTALL_PREFIX}/lib/debug/.build-id/${CMAKE_MATCH_1}/${CMAKE_MATCH_2}.debug")
message(STATUS "Debug symbols: ${symbols}")
