/* code_rest: lets go of code that is not being used. What only a start needs (the handshake with the API
 * server, reading configuration) stays mapped otherwise for as long as the program runs. */
#pragma once

/* Unmaps the pages of all code; what is needed comes back from the page cache when it is. Any thread. */
void code_rest(void);
