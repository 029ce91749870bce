/* SPDX-License-Identifier: Apache-2.0 */
/* Graphics: a driver without a display has none to share buffers with. Whatever would need a
 * graphics context fails as it does there; resources cannot exist, so no handle is valid. */
#include <stdlib.h>

#include "sim_cuda.h"

static CUresult no_graphics(void)
{
        return CUDA_ERROR_OPERATING_SYSTEM;
}

/* With VGPU_SIM_GRAPHICS, contexts for graphics can be made: contexts like others. */
static CUresult graphics_context(CUcontext *ret, unsigned int flags, CUdevice device)
{
        return getenv("VGPU_SIM_GRAPHICS") ? sim_cuCtxCreate_v2(ret, flags, device) : no_graphics();
}

/* OpenGL. */

CUresult sim_cuGLCtxCreate(CUcontext *pCtx, unsigned int Flags, CUdevice device)
{
        return graphics_context(pCtx, Flags, device);
}

CUresult sim_cuGLCtxCreate_v2(CUcontext *pCtx, unsigned int Flags, CUdevice device)
{
        return graphics_context(pCtx, Flags, device);
}

CUresult sim_cuGLGetDevices(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices,
                            unsigned int cudaDeviceCount, CUGLDeviceList deviceList)
{
        (void)pCudaDeviceCount, (void)pCudaDevices, (void)cudaDeviceCount, (void)deviceList;
        return no_graphics();
}

CUresult sim_cuGLGetDevices_v2(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices,
                               unsigned int cudaDeviceCount, CUGLDeviceList deviceList)
{
        (void)pCudaDeviceCount, (void)pCudaDevices, (void)cudaDeviceCount, (void)deviceList;
        return no_graphics();
}

CUresult sim_cuGLInit(void)
{
        return no_graphics();
}

CUresult sim_cuGLMapBufferObject(CUdeviceptr_v1 *dptr, unsigned int *size, GLuint buffer)
{
        (void)dptr, (void)size, (void)buffer;
        return no_graphics();
}

CUresult sim_cuGLMapBufferObjectAsync(CUdeviceptr_v1 *dptr, unsigned int *size, GLuint buffer,
                                      CUstream hStream)
{
        (void)dptr, (void)size, (void)buffer, (void)hStream;
        return no_graphics();
}

CUresult sim_cuGLMapBufferObjectAsync_v2(CUdeviceptr *dptr, size_t *size, GLuint buffer,
                                         CUstream hStream)
{
        (void)dptr, (void)size, (void)buffer, (void)hStream;
        return no_graphics();
}

CUresult sim_cuGLMapBufferObject_v2(CUdeviceptr *dptr, size_t *size, GLuint buffer)
{
        (void)dptr, (void)size, (void)buffer;
        return no_graphics();
}

CUresult sim_cuGLRegisterBufferObject(GLuint buffer)
{
        (void)buffer;
        return no_graphics();
}

CUresult sim_cuGLSetBufferObjectMapFlags(GLuint buffer, unsigned int Flags)
{
        (void)buffer, (void)Flags;
        return no_graphics();
}

CUresult sim_cuGLUnmapBufferObject(GLuint buffer)
{
        (void)buffer;
        return no_graphics();
}

CUresult sim_cuGLUnmapBufferObjectAsync(GLuint buffer, CUstream hStream)
{
        (void)buffer, (void)hStream;
        return no_graphics();
}

CUresult sim_cuGLUnregisterBufferObject(GLuint buffer)
{
        (void)buffer;
        return no_graphics();
}

CUresult sim_cuGraphicsGLRegisterBuffer(CUgraphicsResource *pCudaResource, GLuint buffer,
                                        unsigned int Flags)
{
        (void)pCudaResource, (void)buffer, (void)Flags;
        return no_graphics();
}

CUresult sim_cuGraphicsGLRegisterImage(CUgraphicsResource *pCudaResource, GLuint image,
                                       GLenum target, unsigned int Flags)
{
        (void)pCudaResource, (void)image, (void)target, (void)Flags;
        return no_graphics();
}

/* EGL. */

CUresult sim_cuEGLApiInit(void *a, void *b)
{
        (void)a, (void)b;
        return no_graphics();
}

CUresult sim_cuEGLStreamConsumerAcquireFrame(CUeglStreamConnection *conn,
                                             CUgraphicsResource *pCudaResource, CUstream *pStream,
                                             unsigned int timeout)
{
        (void)conn, (void)pCudaResource, (void)pStream, (void)timeout;
        return no_graphics();
}

CUresult sim_cuEGLStreamConsumerConnect(CUeglStreamConnection *conn, EGLStreamKHR stream)
{
        (void)conn, (void)stream;
        return no_graphics();
}

CUresult sim_cuEGLStreamConsumerConnectWithFlags(CUeglStreamConnection *conn, EGLStreamKHR stream,
                                                 unsigned int flags)
{
        (void)conn, (void)stream, (void)flags;
        return no_graphics();
}

CUresult sim_cuEGLStreamConsumerDisconnect(CUeglStreamConnection *conn)
{
        (void)conn;
        return no_graphics();
}

CUresult sim_cuEGLStreamConsumerReleaseFrame(CUeglStreamConnection *conn,
                                             CUgraphicsResource pCudaResource, CUstream *pStream)
{
        (void)conn, (void)pCudaResource, (void)pStream;
        return no_graphics();
}

CUresult sim_cuEGLStreamProducerConnect(CUeglStreamConnection *conn, EGLStreamKHR stream,
                                        EGLint width, EGLint height)
{
        (void)conn, (void)stream, (void)width, (void)height;
        return no_graphics();
}

CUresult sim_cuEGLStreamProducerDisconnect(CUeglStreamConnection *conn)
{
        (void)conn;
        return no_graphics();
}

CUresult sim_cuEGLStreamProducerPresentFrame(CUeglStreamConnection *conn, CUeglFrame eglframe,
                                             CUstream *pStream)
{
        (void)conn, (void)eglframe, (void)pStream;
        return no_graphics();
}

CUresult sim_cuEGLStreamProducerReturnFrame(CUeglStreamConnection *conn, CUeglFrame *eglframe,
                                            CUstream *pStream)
{
        (void)conn, (void)eglframe, (void)pStream;
        return no_graphics();
}

CUresult sim_cuEventCreateFromEGLSync(CUevent *phEvent, EGLSyncKHR eglSync, unsigned int flags)
{
        (void)phEvent, (void)eglSync, (void)flags;
        return no_graphics();
}

CUresult sim_cuGraphicsEGLRegisterImage(CUgraphicsResource *pCudaResource, EGLImageKHR image,
                                        unsigned int flags)
{
        (void)pCudaResource, (void)image, (void)flags;
        return no_graphics();
}

CUresult sim_cuGraphicsResourceGetMappedEglFrame(CUeglFrame *eglFrame, CUgraphicsResource resource,
                                                 unsigned int index, unsigned int mipLevel)
{
        (void)eglFrame, (void)resource, (void)index, (void)mipLevel;
        return no_graphics();
}

/* VDPAU. */

CUresult sim_cuGraphicsVDPAURegisterOutputSurface(CUgraphicsResource *pCudaResource,
                                                  VdpOutputSurface vdpSurface, unsigned int flags)
{
        (void)pCudaResource, (void)vdpSurface, (void)flags;
        return no_graphics();
}

CUresult sim_cuGraphicsVDPAURegisterVideoSurface(CUgraphicsResource *pCudaResource,
                                                 VdpVideoSurface vdpSurface, unsigned int flags)
{
        (void)pCudaResource, (void)vdpSurface, (void)flags;
        return no_graphics();
}

CUresult sim_cuVDPAUCtxCreate(CUcontext *pCtx, unsigned int flags, CUdevice device,
                              VdpDevice vdpDevice, VdpGetProcAddress *vdpGetProcAddress)
{
        (void)vdpDevice, (void)vdpGetProcAddress;
        return graphics_context(pCtx, flags, device);
}

CUresult sim_cuVDPAUCtxCreate_v2(CUcontext *pCtx, unsigned int flags, CUdevice device,
                                 VdpDevice vdpDevice, VdpGetProcAddress *vdpGetProcAddress)
{
        (void)vdpDevice, (void)vdpGetProcAddress;
        return graphics_context(pCtx, flags, device);
}

CUresult sim_cuVDPAUGetDevice(CUdevice *pDevice, VdpDevice vdpDevice,
                              VdpGetProcAddress *vdpGetProcAddress)
{
        (void)pDevice, (void)vdpDevice, (void)vdpGetProcAddress;
        return no_graphics();
}

/* Resources of any of them: none was ever registered. */

CUresult sim_cuGraphicsMapResources(unsigned int count, CUgraphicsResource *resources,
                                    CUstream hStream)
{
        (void)count, (void)resources, (void)hStream;
        return CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuGraphicsResourceGetMappedMipmappedArray(CUmipmappedArray *pMipmappedArray,
                                                       CUgraphicsResource resource)
{
        (void)pMipmappedArray, (void)resource;
        return CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuGraphicsResourceGetMappedPointer(CUdeviceptr_v1 *pDevPtr, unsigned int *pSize,
                                                CUgraphicsResource resource)
{
        (void)pDevPtr, (void)pSize, (void)resource;
        return CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuGraphicsResourceGetMappedPointer_v2(CUdeviceptr *pDevPtr, size_t *pSize,
                                                   CUgraphicsResource resource)
{
        (void)pDevPtr, (void)pSize, (void)resource;
        return CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuGraphicsResourceSetMapFlags(CUgraphicsResource resource, unsigned int flags)
{
        (void)resource, (void)flags;
        return CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuGraphicsResourceSetMapFlags_v2(CUgraphicsResource resource, unsigned int flags)
{
        (void)resource, (void)flags;
        return CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuGraphicsSubResourceGetMappedArray(CUarray *pArray, CUgraphicsResource resource,
                                                 unsigned int arrayIndex, unsigned int mipLevel)
{
        (void)pArray, (void)resource, (void)arrayIndex, (void)mipLevel;
        return CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuGraphicsUnmapResources(unsigned int count, CUgraphicsResource *resources,
                                      CUstream hStream)
{
        (void)count, (void)resources, (void)hStream;
        return CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuGraphicsUnregisterResource(CUgraphicsResource resource)
{
        (void)resource;
        return CUDA_ERROR_INVALID_HANDLE;
}
