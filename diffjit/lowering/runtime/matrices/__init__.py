"""Products and factorisations of single matrices: loops where they win, BLAS and LAPACK above."""
