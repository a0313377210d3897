/** Rules of RFC 9113 for single headers, of requests and of answers. */

/** HTTP/1.1 connection headers, which HTTP/2 forbids. */
const connectionFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** Valid characters of a name; HTTP/2 allows no capitals. */
const fieldName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

export const isFieldName = (name: string): boolean => fieldName.test(name);

/** Whether a header is about a connection of HTTP/1.1. */
export const isConnectionField = (name: string): boolean => connectionFields.has(name);

/** Whether a header of a message is not allowed in HTTP/2. */
export const isForbidden = (name: string, value: string): boolean =>
  connectionFields.has(name) || (name === 'te' && value !== 'trailers');

/** Whether a value has no control characters, and no blanks at either end. */
export function isFieldValue(value: string): boolean {
  for (let i = 0; i < value.length; i++) if (isControl(value.charCodeAt(i))) return false;
  return !isBlank(value.charCodeAt(0)) && !isBlank(value.charCodeAt(value.length - 1));
}

const isControl = (code: number): boolean => (code < 0x20 && code !== 0x09) || code === 0x7f;
const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;
