# unite(TARGET): with RSSLAG_UNITY, the C++ files of TARGET are compiled as one file that includes them, except those with
# SKIP_UNITY_BUILD_INCLUSION. The unity files that CMake 3.25 writes include absolute paths. They differ from clone to clone, so
# that ccache finds their objects only after preprocessing. These files include relative paths.
function(unite name)
    if(RSSLAG_UNITY)
        # At the end of the directory, where all files and their properties are known.
        cmake_language(EVAL CODE "cmake_language(DEFER CALL write_unity_file ${name})")
    endif()
endfunction()

function(write_unity_file name)
    get_target_property(sources ${name} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    foreach(source IN LISTS sources)
        get_source_file_property(separate ${source} SKIP_UNITY_BUILD_INCLUSION)
        if(NOT separate)
            cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
            cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
            string(APPEND text "#include \"${path}\"\n")
            set_source_files_properties(${source} PROPERTIES HEADER_FILE_ONLY ON)
        endif()
    endforeach()
    set(unity ${CMAKE_CURRENT_BINARY_DIR}/${name}_unity.cpp)
    file(CONFIGURE OUTPUT ${unity} CONTENT "${text}" @ONLY)
    target_sources(${name} PRIVATE ${unity})
endfunction()
