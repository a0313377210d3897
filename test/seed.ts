/**
 * Generated tests use a fixed seed, so that a run can be repeated. `WHERRY_SEED=<number>` sets another; a
 * failure prints its seed.
 */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.WHERRY_SEED ?? 20261115) });
