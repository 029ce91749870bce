/* What several commands ask for alike: a share by name. */
#pragma once

/* The sentence for a share that does not exist, with the nearest one; returns EXIT_FAILED. */
int complain_unknown_share(const char *name);
