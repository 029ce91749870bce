/* SPDX-License-Identifier: Apache-2.0 */
/* boot_id: which run of this machine's kernel it is. */
#pragma once

enum { BOOT_ID_BYTES = 64 };

/* 0 or a negative errno: there is no /proc. */
int boot_id_read(char ret_id[BOOT_ID_BYTES]);
