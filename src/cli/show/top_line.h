/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of `vgpu top`: a GPU, a share on it. */
#pragma once

#include "canvas.h"
#include "top_layout.h"
#include "top_rows.h"

enum { TOP_LINE_INDENT = 2 };

void top_line_gpu(struct canvas *canvas, unsigned row, const struct top_layout *layout,
                  const struct top_gpu *gpu);
void top_line_row(struct canvas *canvas, unsigned row, const struct top_layout *layout,
                  const struct top_row *share, const struct top_gpu *gpu);

/* What stands under SHARE: of a stranger also its program, where that has no column. */
void top_line_label(const struct top_row *row, bool has_program, char ret_label[SNAPSHOT_TEXT]);
