/** Maximum number of header lines of a request, in each version of HTTP. */
export const headersMax = 2_000;
