/* SPDX-License-Identifier: Apache-2.0 */
/* The types that the CUDA driver API borrows from OpenGL, EGL and VDPAU. */
#pragma once

#include "cuda_types.h"

typedef unsigned int GLuint;
typedef unsigned int GLenum;
typedef int32_t EGLint;
typedef void *EGLStreamKHR;
typedef void *EGLImageKHR;
typedef void *EGLSyncKHR;
typedef uint32_t VdpDevice;
typedef uint32_t VdpVideoSurface;
typedef uint32_t VdpOutputSurface;
typedef int VdpGetProcAddress(VdpDevice device, uint32_t function, void **ret_pointer);

typedef enum CUGLDeviceList_enum {
        CU_GL_DEVICE_LIST_ALL = 1,
        CU_GL_DEVICE_LIST_CURRENT_FRAME = 2,
        CU_GL_DEVICE_LIST_NEXT_FRAME = 3,
} CUGLDeviceList;

#define CU_EGL_PLANES 3

typedef struct CUeglFrame_st {
        union {
                CUarray pArray[CU_EGL_PLANES];
                void *pPitch[CU_EGL_PLANES];
        } frame;
        unsigned int width;
        unsigned int height;
        unsigned int depth;
        unsigned int pitch;
        unsigned int planeCount;
        unsigned int numChannels;
        int frameType;
        int eglColorFormat;
        int cuFormat;
} CUeglFrame;
