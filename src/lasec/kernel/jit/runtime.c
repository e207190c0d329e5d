/* What the code of numba calls, without Python: the memory of arrays, and products.

   Compiled for each level of processors and linked with the functions of lasec. Nothing here keeps
   state but the addresses of four matrix products, which are set once, before they are called. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(_WIN32)
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

/* As numba has it: an array holds one, and its code counts references by itself. */
typedef void (*Destructor)(void *, size_t, void *);
typedef struct {
    size_t references;
    Destructor destructor;
    void *of_destructor;
    void *data;
    size_t size;
    void *external;
} MemInfo;

PUBLIC MemInfo *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    size_t room = sizeof(MemInfo) + 2 * (size_t)align;
    if (size > SIZE_MAX - room) return NULL;
    MemInfo *info = malloc(room + size);
    if (!info) return NULL;
    uintptr_t begin = (uintptr_t)(info + 1) + align - 1;
    *info = (MemInfo){.references = 1, .data = (void *)(begin / align * align), .size = size};
    return info;
}

PUBLIC MemInfo *NRT_MemInfo_alloc_safe_aligned(size_t size, unsigned align) {
    return NRT_MemInfo_alloc_aligned(size, align);
}

PUBLIC MemInfo *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 32); }

/* Of lists, which sorting uses: their memory is apart from what tells of it. */
static void free_list(void *data, size_t size, void *entries) {
    if (entries) ((Destructor)(uintptr_t)entries)(data, size, NULL);
    free(data);
}

PUBLIC MemInfo *NRT_MemInfo_new_varsize_dtor(size_t size, Destructor entries) {
    MemInfo *info = malloc(sizeof(MemInfo));
    void *data = malloc(size ? size : 1);
    if (!info || !data) {
        free(info);
        free(data);
        return NULL;
    }
    *info = (MemInfo){.references = 1, .destructor = free_list, .data = data, .size = size};
    info->of_destructor = (void *)(uintptr_t)entries;
    return info;
}

PUBLIC void NRT_MemInfo_call_dtor(MemInfo *info) {
    if (info->destructor) info->destructor(info->data, info->size, info->of_destructor);
    free(info);
}

PUBLIC void *NRT_Allocate(size_t size) { return malloc(size); }
PUBLIC void NRT_Free(void *data) { free(data); }

/* x'y and y <- alpha Ax or alpha A'x, of a matrix whose columns lie one after the other. The terms
   may be added in any order, and always are in the same one. */
#define PRODUCTS_OF(REAL, DOT, TIMES)                                                            \
    static void DOT(ptrdiff_t n, const REAL *restrict x, const REAL *restrict y, REAL *out) {     \
        REAL total = 0;                                                                          \
        for (ptrdiff_t i = 0; i < n; i++) total += x[i] * y[i];                                   \
        *out = total;                                                                            \
    }                                                                                            \
    static void TIMES(int turned, ptrdiff_t m, ptrdiff_t n, REAL alpha, const REAL *restrict a,   \
                      ptrdiff_t lda, const REAL *restrict x, REAL *restrict y) {                 \
        if (!turned) {                                                                           \
            for (ptrdiff_t k = 0; k < m; k++) y[k] = 0;                                           \
            for (ptrdiff_t j = 0; j < n; j++)                                                     \
                for (ptrdiff_t k = 0; k < m; k++) y[k] += alpha * x[j] * a[k + j * lda];           \
            return;                                                                              \
        }                                                                                        \
        ptrdiff_t i = 0;                                                                         \
        for (; i + 4 <= n; i += 4) {                                                             \
            REAL p = 0, q = 0, r = 0, s = 0;                                                     \
            const REAL *b = a + i * lda;                                                         \
            for (ptrdiff_t j = 0; j < m; j++) {                                                   \
                REAL v = x[j];                                                                   \
                p += b[j] * v;                                                                   \
                q += b[lda + j] * v;                                                             \
                r += b[2 * lda + j] * v;                                                         \
                s += b[3 * lda + j] * v;                                                         \
            }                                                                                    \
            y[i] = alpha * p;                                                                    \
            y[i + 1] = alpha * q;                                                                \
            y[i + 2] = alpha * r;                                                                \
            y[i + 3] = alpha * s;                                                                \
        }                                                                                        \
        for (; i < n; i++) {                                                                     \
            REAL total = 0;                                                                      \
            for (ptrdiff_t j = 0; j < m; j++) total += a[i * lda + j] * x[j];                      \
            y[i] = alpha * total;                                                                \
        }                                                                                        \
    }
PRODUCTS_OF(double, dot_double, times_double)
PRODUCTS_OF(float, dot_single, times_single)

/* The kind is that of the numbers: 'd' or 's'; there are no complex ones here. */
PUBLIC int numba_xxdot(char kind, char conjugated, ptrdiff_t n, const void *x, const void *y,
                       void *out) {
    (void)conjugated;
    if (kind == 's')
        dot_single(n, x, y, out);
    else
        dot_double(n, x, y, out);
    return kind != 's' && kind != 'd';
}

PUBLIC int numba_xxgemv(char kind, char turned, ptrdiff_t m, ptrdiff_t n, const void *alpha,
                        const void *a, ptrdiff_t lda, const void *x, const void *beta, void *y) {
    int t = turned == 't' || turned == 'T';
    (void)beta;
    if (kind == 's')
        times_single(t, m, n, *(const float *)alpha, a, lda, x, y);
    else
        times_double(t, m, n, *(const double *)alpha, a, lda, x, y);
    return kind != 's' && kind != 'd';
}

/* A shape of a C-contiguous array in which nothing has to be moved. */
PUBLIC int numba_attempt_nocopy_reshape(ptrdiff_t axes, const ptrdiff_t *shape,
                                        const ptrdiff_t *strides, ptrdiff_t new_axes,
                                        const ptrdiff_t *new_shape, ptrdiff_t *new_strides,
                                        ptrdiff_t size, int is_fortran) {
    ptrdiff_t step = size;
    for (ptrdiff_t i = axes - 1; i >= 0; i--) {
        if (shape[i] != 1 && strides[i] != step) return 0;
        step *= shape[i];
    }
    if (is_fortran) return 0;
    step = size;
    for (ptrdiff_t i = new_axes - 1; i >= 0; i--) {
        new_strides[i] = step;
        step *= new_shape[i];
    }
    return 1;
}

/* Only reached where a product fails, which those above cannot. */
void Py_FatalError(const char *why) {
    (void)why;
    abort();
}
PUBLIC int numba_gil_ensure(void) { return 0; }

/* Matrix products of a BLAS, whose routines take all of their arguments as addresses. */
#define P(n) void *n
static void (*gemm_of)(P(a), P(b), P(c), P(d), P(e), P(f), P(g), P(h), P(i), P(j), P(k), P(l), P(m));
static void (*gemv_of)(P(a), P(b), P(c), P(d), P(e), P(f), P(g), P(h), P(i), P(j), P(k));
static void (*symm_of)(P(a), P(b), P(c), P(d), P(e), P(f), P(g), P(h), P(i), P(j), P(k), P(l));
static void (*syrk_of)(P(a), P(b), P(c), P(d), P(e), P(f), P(g), P(h), P(i), P(j));

PUBLIC void lasec_set_products(const int64_t *addresses) {
    gemm_of = (void *)(intptr_t)addresses[0];
    gemv_of = (void *)(intptr_t)addresses[1];
    symm_of = (void *)(intptr_t)addresses[2];
    syrk_of = (void *)(intptr_t)addresses[3];
}

void lasec_dgemm(P(a), P(b), P(c), P(d), P(e), P(f), P(g), P(h), P(i), P(j), P(k), P(l), P(m)) {
    gemm_of(a, b, c, d, e, f, g, h, i, j, k, l, m);
}
void lasec_dgemv(P(a), P(b), P(c), P(d), P(e), P(f), P(g), P(h), P(i), P(j), P(k)) {
    gemv_of(a, b, c, d, e, f, g, h, i, j, k);
}
void lasec_dsymm(P(a), P(b), P(c), P(d), P(e), P(f), P(g), P(h), P(i), P(j), P(k), P(l)) {
    symm_of(a, b, c, d, e, f, g, h, i, j, k, l);
}
void lasec_dsyrk(P(a), P(b), P(c), P(d), P(e), P(f), P(g), P(h), P(i), P(j)) {
    syrk_of(a, b, c, d, e, f, g, h, i, j);
}
