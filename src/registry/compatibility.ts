/**
 * Compatibility: whose answers are given where the contract's API, which is that of Kubernetes 1.1, and a current API server
 * differ in how they refuse a request or report a success. Objects are the same in both, but for `metadata.selfLink`.
 */
export type Compatibility = 'contract' | 'kubernetes';
