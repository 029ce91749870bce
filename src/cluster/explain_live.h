/* SPDX-License-Identifier: Apache-2.0 */
/* Explain, live: adds to an explanation of a running pod what its containers hold and use now, or says why that
 * is not known ("usage_error"). */
#pragma once

#include "cluster_session.h"

void explain_live(struct cluster_session *session, json_t *explanation);
