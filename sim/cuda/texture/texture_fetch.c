/* SPDX-License-Identifier: Apache-2.0 */
/* Reading textures, reading and writing surfaces: one texel for one thread. */
#include <math.h>
#include <string.h>

#include "resolve.h"
#include "texture.h"

/* Where the elements of a texture lie. */
struct grid {
        const struct allocation *array; /* ≠ NULL: `base` is an offset in its bytes */
        uint64_t base;
        size_t width, height, depth, layers;
        size_t pitch, slice;
        CUarray_format format;
        unsigned channels, element_bytes;
};

static void grid_of_array(struct array *array, struct grid *grid)
{
        const CUDA_ARRAY3D_DESCRIPTOR *d = &array->descriptor;
        bool has_layers = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);

        *grid = (struct grid){
                .array = array->allocation,
                .base = array->offset,
                .width = d->Width,
                .height = array->rows,
                .depth = has_layers ? 1 : array->planes,
                .layers = has_layers ? array->planes : 1,
                .pitch = array->pitch,
                .slice = array->pitch * array->rows,
                .format = d->Format,
                .channels = d->NumChannels,
                .element_bytes = array->element_bytes,
        };
}

static void grid_of_linear(const CUDA_RESOURCE_DESC *r, struct grid *grid)
{
        bool is_plane = r->resType == CU_RESOURCE_TYPE_PITCH2D;
        CUarray_format format = is_plane ? r->res.pitch2D.format : r->res.linear.format;
        unsigned channels = is_plane ? r->res.pitch2D.numChannels : r->res.linear.numChannels;
        unsigned element = array_element_bytes(format, channels);

        *grid = (struct grid){
                .base = is_plane ? r->res.pitch2D.devPtr : r->res.linear.devPtr,
                .width = is_plane ? r->res.pitch2D.width : r->res.linear.sizeInBytes / element,
                .height = is_plane ? r->res.pitch2D.height : 1,
                .depth = 1,
                .layers = 1,
                .pitch = is_plane ? r->res.pitch2D.pitchInBytes : 0,
                .format = format,
                .channels = channels,
                .element_bytes = element,
        };
}

static bool grid_of(const struct texture *texture, float level, struct grid *grid)
{
        const CUDA_RESOURCE_DESC *r = &texture->resource;
        struct array *array = NULL;

        if (!texture->is_bound)
                return false;
        if (r->resType == CU_RESOURCE_TYPE_ARRAY)
                array = array_get(r->res.array.hArray);
        if (r->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
                struct mipmap *mipmap = mipmap_get(r->res.mipmap.hMipmappedArray);
                if (!mipmap)
                        return false;
                float most = (float)(mipmap->level_count - 1);
                float wanted = roundf(level + texture->sampling.mipmapLevelBias);
                array = &mipmap->levels[(unsigned)fminf(fmaxf(wanted, 0), most)];
        }
        if (array) {
                grid_of_array(array, grid);
                return true;
        }
        if (r->resType != CU_RESOURCE_TYPE_LINEAR && r->resType != CU_RESOURCE_TYPE_PITCH2D)
                return false;
        grid_of_linear(r, grid);
        return grid->element_bytes;
}

static bool grid_view(const struct grid *grid, uint64_t offset, size_t count, struct view *ret_view)
{
        struct span span;

        if (grid->array) {
                *ret_view = allocation_view(grid->array, grid->array->base + grid->base + offset);
                return true;
        }
        if (!resolve_span(grid->base + offset, count, &span) || span.count < count)
                return false;
        *ret_view = span.view;
        return true;
}

static float half_to_float(uint16_t half)
{
        unsigned exponent = half >> 10 & 31, fraction = half & 1023;
        float value = exponent == 31 ? (fraction ? NAN : INFINITY)
                      : exponent     ? ldexpf((float)(fraction | 1024), (int)exponent - 25)
                                     : ldexpf((float)fraction, -24);

        return half & 0x8000 ? -value : value;
}

/* A component as the kernel sees it: integer bits, or a float. */
static uint32_t component_read(const unsigned char *at, CUarray_format format, bool is_integer)
{
        uint16_t wide;
        uint32_t bits;
        float value;

        memcpy(&wide, at, sizeof wide);
        switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
                value = (float)*at / 255.0f;
                bits = *at;
                break;
        case CU_AD_FORMAT_SIGNED_INT8:
                value = fmaxf((float)(int8_t)*at / 127.0f, -1.0f);
                bits = (uint32_t)(int8_t)*at;
                break;
        case CU_AD_FORMAT_UNSIGNED_INT16:
                value = (float)wide / 65535.0f;
                bits = wide;
                break;
        case CU_AD_FORMAT_SIGNED_INT16:
                value = fmaxf((float)(int16_t)wide / 32767.0f, -1.0f);
                bits = (uint32_t)(int16_t)wide;
                break;
        case CU_AD_FORMAT_HALF:
                value = half_to_float(wide);
                is_integer = false;
                bits = 0;
                break;
        default:
                memcpy(&bits, at, sizeof bits);
                return bits;
        }
        if (!is_integer)
                memcpy(&bits, &value, sizeof bits);
        return bits;
}

/* The element at integer coordinates within the grid. */
static bool element_read(const struct grid *grid, const struct texture *texture, const size_t at[3],
                         size_t layer, uint32_t value[4])
{
        unsigned char bytes[20] = { 0 };
        unsigned size = grid->channels ? grid->element_bytes / grid->channels : 0;
        bool is_integer = texture->sampling.flags & CU_TRSF_READ_AS_INTEGER;
        struct view view;
        uint64_t offset =
                (layer + at[2]) * grid->slice + at[1] * grid->pitch + at[0] * grid->element_bytes;

        if (!grid_view(grid, offset, grid->element_bytes, &view))
                return false;
        contents_copy((struct view){ .bytes = (char *)bytes }, view, grid->element_bytes);
        for (unsigned i = 0; i < 4; i++)
                value[i] = i < grid->channels
                                   ? component_read(bytes + i * size, grid->format, is_integer)
                                   : 0;
        return true;
}

static bool format_is_float(const struct grid *grid, const struct texture *texture)
{
        switch (grid->format) {
        case CU_AD_FORMAT_FLOAT:
        case CU_AD_FORMAT_HALF:
                return true;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
                return false;
        default:
                return !(texture->sampling.flags & CU_TRSF_READ_AS_INTEGER);
        }
}

/* Brings an index into [0, size) by the address mode; false: the border. */
static bool index_apply(int64_t index, size_t size, CUaddress_mode mode, size_t *ret)
{
        int64_t length = (int64_t)size;

        if (index >= 0 && index < length) {
                *ret = (size_t)index;
                return true;
        }
        switch (mode) {
        case CU_TR_ADDRESS_MODE_WRAP:
                *ret = (size_t)(((index % length) + length) % length);
                return true;
        case CU_TR_ADDRESS_MODE_MIRROR: {
                int64_t period = ((index % (2 * length)) + 2 * length) % (2 * length);
                *ret = (size_t)(period < length ? period : 2 * length - 1 - period);
                return true;
        }
        case CU_TR_ADDRESS_MODE_CLAMP:
                *ret = index < 0 ? 0 : size - 1;
                return true;
        default:
                return false;
        }
}

/* Wrapping and mirroring exist for normalised coordinates alone. */
static CUaddress_mode mode_of(const struct texture *texture, unsigned axis)
{
        CUaddress_mode mode = texture->sampling.addressMode[axis];
        bool is_normal = texture->sampling.flags & CU_TRSF_NORMALIZED_COORDINATES;

        return is_normal || mode == CU_TR_ADDRESS_MODE_BORDER ? mode : CU_TR_ADDRESS_MODE_CLAMP;
}

/* The element at any integer coordinates, or the border's colour. */
static bool sample_read(const struct grid *grid, const struct texture *texture, const int64_t at[3],
                        unsigned axes, size_t layer, uint32_t value[4])
{
        const size_t sizes[3] = { grid->width, grid->height, grid->depth };
        size_t texel[3] = { 0, 0, 0 };

        for (unsigned i = 0; i < axes; i++)
                if (!index_apply(at[i], sizes[i], mode_of(texture, i), &texel[i])) {
                        memcpy(value, texture->sampling.borderColor, 4 * sizeof *value);
                        return true;
                }
        return element_read(grid, texture, texel, layer, value);
}

/* Coordinates beyond any image, and those that are no numbers, become indices all the same. */
#define INDEX_MOST 0x1p40f

static int64_t index_of(float coordinate)
{
        if (isnan(coordinate))
                return 0;
        return (int64_t)floorf(fminf(fmaxf(coordinate, -INDEX_MOST), INDEX_MOST));
}

/* Between the neighbours, with the hardware's eight bits of fraction. */
static bool sample_linear(const struct grid *grid, const struct texture *texture, const float at[3],
                          unsigned axes, size_t layer, uint32_t value[4])
{
        float sum[4] = { 0 }, part[3] = { 0 };
        int64_t low[3] = { 0, 0, 0 };

        for (unsigned i = 0; i < axes; i++) {
                float shifted = at[i] - 0.5f;
                low[i] = index_of(shifted);
                if (fabsf(shifted) < INDEX_MOST)
                        part[i] = roundf((shifted - floorf(shifted)) * 256.0f) / 256.0f;
        }
        for (unsigned corner = 0; corner < 1u << axes; corner++) {
                int64_t texel[3];
                float weight = 1, component[4];
                uint32_t bits[4];
                for (unsigned i = 0; i < 3; i++) {
                        bool is_high = corner >> i & 1;
                        texel[i] = low[i] + is_high;
                        if (i < axes)
                                weight *= is_high ? part[i] : 1 - part[i];
                }
                if (!sample_read(grid, texture, texel, axes, layer, bits))
                        return false;
                memcpy(component, bits, sizeof component);
                for (unsigned c = 0; c < 4; c++)
                        sum[c] += weight != 0 ? weight * component[c] : 0;
        }
        memcpy(value, sum, sizeof sum);
        return true;
}

/* The face a direction points to, and where on it: the axis that is longest decides. */
static size_t cube_face(const float direction[3], float ret_at[2])
{
        float x = direction[0], y = direction[1], z = direction[2];
        float ax = fabsf(x), ay = fabsf(y), az = fabsf(z), s, t, m;
        size_t face;

        if (ax >= ay && ax >= az) {
                face = x >= 0 ? 0 : 1;
                s = x >= 0 ? -z : z, t = -y, m = ax;
        } else if (ay >= az) {
                face = y >= 0 ? 2 : 3;
                s = x, t = y >= 0 ? z : -z, m = ay;
        } else {
                face = z >= 0 ? 4 : 5;
                s = z >= 0 ? x : -x, t = -y, m = az;
        }
        ret_at[0] = (s / m + 1) / 2;
        ret_at[1] = (t / m + 1) / 2;
        return face;
}

/* Of `layers`; a cube's is six of the array's. */
static size_t layer_of(size_t layers, float wanted)
{
        float most = (float)(layers - 1);

        return (size_t)fminf(fmaxf(roundf(wanted), 0), most);
}

/* The four neighbours' one component, counter-clockwise from the lower left. */
static bool sample_gather(const struct grid *grid, const struct texture *texture, const float at[3],
                          size_t layer, unsigned component, uint32_t value[4])
{
        static const int offsets[4][2] = { { 0, 1 }, { 1, 1 }, { 1, 0 }, { 0, 0 } };
        int64_t x = index_of(at[0] - 0.5f), y = index_of(at[1] - 0.5f);

        for (unsigned i = 0; i < 4; i++) {
                int64_t texel[3] = { x + offsets[i][0], y + offsets[i][1], 0 };
                uint32_t bits[4];
                if (!sample_read(grid, texture, texel, 2, layer, bits))
                        return false;
                value[i] = bits[component & 3];
        }
        return true;
}

static bool fetch_integer(const struct grid *grid, const struct texture *texture,
                          struct ptx_texel *t, size_t layer)
{
        int64_t texel[3] = { t->coordinate_int[0], t->dimensions > 1 ? t->coordinate_int[1] : 0,
                             t->dimensions > 2 ? t->coordinate_int[2] : 0 };

        /* A fetch outside linear memory gives zeros. */
        if (!grid->array && (texel[0] < 0 || (size_t)texel[0] >= grid->width)) {
                memset(t->value, 0, sizeof t->value);
                return true;
        }
        return sample_read(grid, texture, texel, t->dimensions, layer, t->value);
}

static bool texture_fetch(void *closure, struct ptx_texel *t)
{
        struct texture *texture = texture_at(t->handle);
        const struct texture *sampler = t->sampler ? texture_at(t->sampler) : texture;
        float at[3] = { t->coordinate[0], t->coordinate[1], t->coordinate[2] };
        struct grid grid;

        (void)closure;
        if (!texture || !sampler || !grid_of(texture, t->has_level ? t->level : 0, &grid))
                return false;
        if (t->is_cube && grid.layers < 6)
                return false;
        size_t layer = t->is_array ? layer_of(t->is_cube ? grid.layers / 6 : grid.layers,
                                              t->coordinate[t->is_cube ? 3 : t->dimensions])
                                   : 0;
        bool is_normal = sampler->sampling.flags & CU_TRSF_NORMALIZED_COORDINATES;
        if (t->is_cube) {
                layer = (t->is_array ? layer * 6 : 0) + cube_face(t->coordinate, at);
                is_normal = true;
        }
        if (t->is_integer_coordinate)
                return fetch_integer(&grid, sampler, t, layer);
        if (is_normal) {
                at[0] *= (float)grid.width;
                at[1] *= (float)grid.height;
                at[2] *= (float)grid.depth;
        }
        if (t->is_gather)
                return sample_gather(&grid, sampler, at, layer, t->component, t->value);
        if (sampler->sampling.filterMode == CU_TR_FILTER_MODE_LINEAR &&
            format_is_float(&grid, sampler))
                return sample_linear(&grid, sampler, at, t->dimensions, layer, t->value);
        int64_t texel[3] = { index_of(at[0]), index_of(at[1]), index_of(at[2]) };
        return sample_read(&grid, sampler, texel, t->dimensions, layer, t->value);
}

/* What the instruction does with coordinates outside. */
enum { BOUNDARY_TRAP, BOUNDARY_CLAMP, BOUNDARY_ZERO };
enum surface_result { SURFACE_BAD, SURFACE_OUTSIDE, SURFACE_FOUND };

static enum surface_result surface_view(struct ptx_texel *t, struct view *ret_view)
{
        struct texture *texture = texture_at(t->handle);
        struct grid grid;

        if (!texture || !grid_of(texture, 0, &grid) || t->bytes > sizeof t->value)
                return SURFACE_BAD;
        int64_t at[3] = { t->coordinate_int[0], t->dimensions > 1 ? t->coordinate_int[1] : 0,
                          t->dimensions > 2 ? t->coordinate_int[2] : 0 };
        const int64_t most[3] = { (int64_t)(grid.width * grid.element_bytes) - (int64_t)t->bytes,
                                  (int64_t)grid.height - 1, (int64_t)grid.depth - 1 };
        for (unsigned i = 0; i < 3; i++) {
                if (at[i] >= 0 && at[i] <= most[i])
                        continue;
                if (t->boundary != BOUNDARY_CLAMP)
                        return t->boundary == BOUNDARY_ZERO ? SURFACE_OUTSIDE : SURFACE_BAD;
                at[i] = at[i] < 0 ? 0 : most[i];
        }
        size_t layer = t->is_array ? layer_of(grid.layers, t->coordinate[t->dimensions]) : 0;
        uint64_t offset =
                (layer + (size_t)at[2]) * grid.slice + (size_t)at[1] * grid.pitch + (size_t)at[0];
        return grid_view(&grid, offset, t->bytes, ret_view) ? SURFACE_FOUND : SURFACE_BAD;
}

static bool surface_load(void *closure, struct ptx_texel *t)
{
        struct view view;
        enum surface_result result = surface_view(t, &view);

        (void)closure;
        memset(t->value, 0, sizeof t->value);
        if (result == SURFACE_FOUND)
                contents_copy((struct view){ .bytes = (char *)t->value }, view, t->bytes);
        return result != SURFACE_BAD;
}

static bool surface_store(void *closure, struct ptx_texel *t)
{
        struct view view;
        enum surface_result result = surface_view(t, &view);

        (void)closure;
        if (result == SURFACE_FOUND)
                contents_copy(view, (struct view){ .bytes = (char *)t->value }, t->bytes);
        return result != SURFACE_BAD;
}

static uint32_t texture_query(void *closure, uint64_t handle, const char *what)
{
        struct texture *texture = texture_at(handle);
        struct grid grid;

        (void)closure;
        if (!texture || !grid_of(texture, 0, &grid))
                return 0;
        if (!strcmp(what, "width"))
                return (uint32_t)grid.width;
        if (!strcmp(what, "height"))
                return (uint32_t)grid.height;
        if (!strcmp(what, "depth"))
                return (uint32_t)grid.depth;
        if (!strcmp(what, "array_size"))
                return (uint32_t)grid.layers;
        if (!strcmp(what, "normalized_coords"))
                return (texture->sampling.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
        return 0;
}

const struct ptx_images texture_images = {
        .fetch = texture_fetch,
        .surface_load = surface_load,
        .surface_store = surface_store,
        .query = texture_query,
};
