/* SPDX-License-Identifier: Apache-2.0 */
/* By which names limits may mean GPUs. */
#include "admission.h"

#include <string.h>

#include "unit.h"

TEST(a_name_that_fits_is_the_devices)
{
        char name[SHARE_UUID];

        admission_gpu_name("GPU-11111111-2222-3333-4444-555555555555", name);
        CHECK_STR(name, "GPU-11111111-2222-3333-4444-555555555555");
        admission_gpu_name("MIG-11111111-2222-3333-4444-555555555555", name);
        CHECK_STR(name, "MIG-11111111-2222-3333-4444-555555555555");
}

TEST(a_name_that_does_not_fit_is_nobodys)
{
        char one[SHARE_UUID], other[SHARE_UUID];

        admission_gpu_name("MIG-GPU-11111111-2222-3333-4444-555555555555/1/0", one);
        admission_gpu_name("MIG-GPU-11111111-2222-3333-4444-555555555555/13/0", other);
        CHECK(strncmp(one, "MIG-", 4) == 0); /* it counts as no whole GPU */
        CHECK(!strstr(one, "GPU-1") && !strstr(other, "GPU-1"));
}

int main(void)
{
        return RUN(CASE(a_name_that_fits_is_the_devices),
                   CASE(a_name_that_does_not_fit_is_nobodys));
}
