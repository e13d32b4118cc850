"""Function spaces, which define the meaning of the coefficients of a fit."""
