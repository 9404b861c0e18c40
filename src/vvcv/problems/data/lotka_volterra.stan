// Posterior of the paper's Appendix E.6 on R^8; the same model as vvcv.problems.lotka_volterra.
functions {
  vector field(real s, vector v, vector rate) {
    return [(rate[1] - rate[2] * v[2]) * v[1], (rate[3] * v[1] - rate[4]) * v[2]]';
  }
}
data {
  int<lower=1> n;                   // years after the first
  array[n] real<lower=0> elapsed;   // since the first year
  array[n + 1, 2] real<lower=0> y;  // hare and lynx
}
parameters {
  vector[8] x;  // log of alpha, beta, delta, gamma, v_1(0), v_2(0), sigma_1, sigma_2
}
model {
  vector[8] natural = exp(x);
  array[n] vector[2] v = ode_rk45_tol(field, natural[5:6], 0, elapsed, 1e-8, 1e-8, 100000, natural[1:4]);
  x[1:4] ~ normal([0, -3, -3, 0]', 0.5);
  x[5:6] ~ normal(log(10), 1);
  x[7:8] ~ normal(-1, 1);
  for (k in 1 : 2) {
    y[1, k] ~ lognormal(x[4 + k], natural[6 + k]);
    y[2 : , k] ~ lognormal(log(v[ : , k]), natural[6 + k]);
  }
}
