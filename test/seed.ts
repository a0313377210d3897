/**
 * Generated tests draw from a seed that stays the same, so that a run can be repeated. `WHERRY_SEED=<number>` takes
 * another; a failure prints the seed it was found with.
 */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.WHERRY_SEED ?? 20261115) });
