/**
 * Compatibility: whether refusals and successes are reported as in Kubernetes 1.1 (`contract`) or as in a current API
 * server (`kubernetes`), where these differ. Objects are the same in both, except for `metadata.selfLink`.
 */
export type Compatibility = 'contract' | 'kubernetes';
