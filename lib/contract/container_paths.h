/* SPDX-License-Identifier: Apache-2.0 */
/* container_paths: paths in a container, and what the parties to its start call them. */
#pragma once

/* A folder of its own, read-only, so that nothing below it can be moved aside. The share is in it
 * (SHARE_PATH), the socket of the registry (REGISTRY_PATH), and: */
#define CONTAINER_FOLDER  "/etc/vgpu"
#define CONTAINER_REGION  CONTAINER_FOLDER "/region"
#define CONTAINER_GRANT   CONTAINER_FOLDER "/grant"
#define CONTAINER_WANT    CONTAINER_FOLDER "/want"
#define CONTAINER_LIBRARY CONTAINER_FOLDER "/libvgpu.so"
/* A simulated machine and its driver, where there is no real one. */
#define CONTAINER_MACHINE CONTAINER_FOLDER "/machine"
#define CONTAINER_DRIVER  CONTAINER_FOLDER "/driver"
/* The C library's list of what every program loads first. */
#define CONTAINER_PRELOAD "/etc/ld.so.preload"

/* Of the node: the socket (gRPC, api/proto/vgpu.proto) on which vgpu-node answers vgpu-runtime. */
#define NODE_SOCKET_PATH "/run/vgpu/node.sock"

/* An annotation that the device plugin's Allocate puts on a container: it asked for a GPU, and must
 * not start without its share. The value is the resource. */
#define ANNOTATION_REQUESTED "vgpu.io/requested"
