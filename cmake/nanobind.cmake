# SPDX-License-Identifier: BSD-3-Clause
# nanobind's library behind a module is compiled as one unit: file by file it takes three times as long. Its warnings are not ours.
function(nodewise_unite_nanobind module)
  get_target_property(linked ${module} LINK_LIBRARIES)
  foreach(library ${linked})
    if(library MATCHES "^nanobind")
      set_target_properties(${library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
      target_compile_options(${library} PRIVATE -w)
    endif()
  endforeach()
endfunction()
