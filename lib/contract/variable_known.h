/* SPDX-License-Identifier: Apache-2.0 */
/* Names of variables that are no settings of a container: those that our programs read, those that NVIDIA
 * documents, and those that Kubernetes makes for Services. */
#pragma once

#include <stdbool.h>

/* "NAME" or "NAME=value": does one of our programs or tests, or NVIDIA's driver, read it? */
bool variable_is_known(const char *variable);
/* Of our programs' the one nearest to this name; NULL: all are `far` slips of the pen away, or more. */
const char *variable_nearest_known(const char *name, unsigned far);
/* Made by Kubernetes for a Service: VGPU_CORES_SERVICE_HOST, VGPU_MEMORY_PORT_443_TCP_ADDR. */
bool variable_is_injected(const char *name);
