/* SPDX-License-Identifier: Apache-2.0 */
/* lease_break: files that a container keeps from us by leases (fcntl(2)). Whoever asks without waiting is refused for as
 * long as the container gives its lease up and takes it again. Whoever waits has the file in the end: from then on, and
 * while it waits, no new lease can be taken. */
#pragma once

/* Waits, in a thread of its own, for the files beside the share, and keeps them open for a moment, in which the caller
 * can open them. Once for each share at a time. Nothing is done for shares of users, which may hold up any waiter. */
void lease_break(const char *share_path);
