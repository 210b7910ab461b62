# SPDX-License-Identifier: BSD-3-Clause
# nodewise_add_study(FOLDER): one shared object from the folder's sources, found by table.cpp.
function(nodewise_add_study folder)
endfunction()
