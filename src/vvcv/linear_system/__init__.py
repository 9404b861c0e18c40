"""One exact solution of the joint linear system, and what it says of itself."""
