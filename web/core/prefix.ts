/**
 * The path below which a proxy serves the API, such as `/k8s-api` of `kubectl proxy --api-prefix=/k8s-api/`; empty without
 * a proxy. The server does not know it, but every script comes from `PREFIX/ui/`.
 */
export const prefix = new URL('..', import.meta.url).pathname.replace(/\/$/, '');

/** Where the dashboard is. */
export const root = `${prefix}/ui/`;
