"""What the library's code takes from outside Python, under the address and undefined sanitizers."""

import shutil
import subprocess
from pathlib import Path

import pytest

import lasec

RUNTIME = Path(lasec.__file__).parent / "kernel" / "jit" / "runtime.c"
HARNESS = r"""
#include <math.h>
#include <stdio.h>
#include <string.h>
#include RUNTIME

#define NEED(what) if (!(what)) { printf("line %d: %s\n", __LINE__, #what); return 1; }

static int calls;
static void noted(void *data, size_t size, void *info) {
    (void)data, (void)size, (void)info, calls++;
}

static int memory(void) {
    for (size_t size = 0; size < 300; size += 7)
        for (unsigned align = 1; align <= 64; align *= 2) {
            MemInfo *info = NRT_MemInfo_alloc_aligned(size, align);
            NEED(info && info->references == 1 && info->size == size);
            NEED((uintptr_t)info->data % align == 0);
            memset(info->data, 7, size);
            NRT_MemInfo_call_dtor(info);
        }
    NEED(!NRT_MemInfo_alloc_aligned(SIZE_MAX, 32) && !NRT_MemInfo_alloc_aligned(SIZE_MAX - 90, 32));
    NEED(!NRT_MemInfo_alloc_aligned((size_t)1 << 60, 32));
    MemInfo *list = NRT_MemInfo_new_varsize_dtor(24, noted);
    memset(list->data, 7, 24);
    NRT_MemInfo_call_dtor(list);
    NEED(calls == 1);
    NRT_MemInfo_call_dtor(NRT_MemInfo_new_varsize_dtor(0, NULL));
    NRT_MemInfo_call_dtor(NRT_MemInfo_alloc(10));
    NRT_MemInfo_call_dtor(NRT_MemInfo_alloc_safe_aligned(10, 32));
    NRT_Free(NRT_Allocate(0));
    return 0;
}

#define TRY(REAL, KIND)                                                                        \
    for (ptrdiff_t m = 0; m < 23; m++)                                                         \
        for (ptrdiff_t n = 0; n < 23; n++)                                                     \
            for (int turned = 0; turned < 2; turned++) {                                       \
                ptrdiff_t lda = m ? m : 1, in = turned ? m : n, rows = turned ? n : m;         \
                REAL *a = malloc(sizeof(REAL) * (lda * n + !n)), alpha = 2, beta = 0, s = 0;   \
                REAL *x = malloc(sizeof(REAL) * (in + !in));                                   \
                REAL *y = malloc(sizeof(REAL) * (rows + !rows));                               \
                for (ptrdiff_t i = 0; i < lda * n; i++) a[i] = (REAL)((i * 7) % 11 - 5);       \
                for (ptrdiff_t i = 0; i < in; i++) x[i] = (REAL)(i % 5 - 2);                   \
                NEED(!numba_xxgemv(KIND, turned ? 't' : 'n', m, n, &alpha, a, lda, x, &beta, y)); \
                for (ptrdiff_t i = 0; i < rows; i++) {                                         \
                    REAL t = 0;                                                                \
                    for (ptrdiff_t j = 0; j < in; j++)                                         \
                        t += 2 * x[j] * (turned ? a[i * lda + j] : a[i + j * lda]);            \
                    NEED(y[i] == t);                                                           \
                }                                                                              \
                NEED(!numba_xxdot(KIND, 0, in, x, x, &s));                                     \
                for (ptrdiff_t j = 0; j < in; j++) s -= x[j] * x[j];                           \
                NEED(s == 0);                                                                  \
                free(a); free(x); free(y);                                                     \
            }

static int products_of(void) {
    TRY(double, 'd')
    TRY(float, 's')
    double one = 1.0;
    NEED(numba_xxdot('z', 0, 0, &one, &one, &one) == 1);
    return 0;
}

static int shapes(void) {
    ptrdiff_t shape[] = {3, 4}, strides[] = {32, 8}, turned[] = {8, 24}, one[] = {12}, made[1];
    NEED(numba_attempt_nocopy_reshape(2, shape, strides, 1, one, made, 8, 0) && made[0] == 8);
    NEED(!numba_attempt_nocopy_reshape(2, shape, turned, 1, one, made, 8, 0));
    NEED(!numba_attempt_nocopy_reshape(2, shape, strides, 1, one, made, 8, 1));
    return 0;
}

static int seen[4];
static void gemm(P(a), P(b), P(c), P(d), P(e), P(f), P(g), P(h), P(i), P(j), P(k), P(l), P(m)) {
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)j;
    (void)k, (void)l; seen[0] = *(int *)m;
}
static void gemv(P(a), P(b), P(c), P(d), P(e), P(f), P(g), P(h), P(i), P(j), P(k)) {
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)j;
    seen[1] = *(int *)k;
}
static int handed_on(void) {
    int v = 5;
    int64_t addresses[4] = {(int64_t)(intptr_t)gemm, (int64_t)(intptr_t)gemv, 0, 0};
    lasec_set_products(addresses);
    lasec_dgemm(&v, &v, &v, &v, &v, &v, &v, &v, &v, &v, &v, &v, &v);
    lasec_dgemv(&v, &v, &v, &v, &v, &v, &v, &v, &v, &v, &v);
    NEED(seen[0] == 5 && seen[1] == 5);
    return 0;
}

int main(void) { return memory() || products_of() || shapes() || handed_on(); }
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_the_runtime_under_sanitizers(tmp_path):
    source, program = tmp_path / "harness.c", tmp_path / "harness"
    source.write_text(HARNESS.replace("#include RUNTIME", f'#include "{RUNTIME}"'))
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run(
        ["cc", "-g", "-O1", "-Wall", "-Wextra", "-Werror", *checks, "-o", program, source, "-lm"],
        check=True,
    )
    options = {"ASAN_OPTIONS": "allocator_may_return_null=1"}
    done = subprocess.run([program], capture_output=True, text=True, env=options, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
