/** Requests of pages whose origin is allowed by CORS: they may use what a browser shows by itself, as pages of this server. */
export const allowedPages = new WeakSet<object>();
