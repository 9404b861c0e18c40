"""Problems with exact answers or real samplers, each giving plain float64 arrays: points, scores, values.

    borehole         water flow, two fidelities, R^8                  paper, Section 5.1 and Appendix E.4
    step             step functions, two fidelities, R                paper, Section 5.1 and Appendix E.3
    synthetic        South's polynomial plus ripple, R                paper, Appendix E.2
    van_der_pol      evidence of an oscillator, 31 temperatures, R    paper, Section 5.2 and Appendix E.5
    lotka_volterra   hare and lynx posterior, R^8                     paper, Section 5.3 and Appendix E.6
    published        the numbers printed in the paper

The problems know nothing of the rest of the library; only the long run behind the reference values of `lotka_volterra`
is sharpened by its polynomials. Only the two differential equations import JAX, and only the NUTS samplers of
`lotka_volterra` import BlackJAX or PyStan.
"""
