/* SPDX-License-Identifier: Apache-2.0 */
/* code_trim: gives pages of unused code back to the kernel. What only a start needs (the handshake with the API
 * server, reading configuration) would stay mapped for as long as the program runs. */
#pragma once

/* Unmaps the pages of all code; what is needed comes back from the page cache when it is. Any thread. */
void code_trim(void);
