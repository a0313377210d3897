/** The stream to which the body of an answer is written: Node's response itself, or the HTTP/2 stream behind it. */
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';

export const bodySink = (response: ServerResponse): Writable =>
  (response as { readonly stream?: Writable }).stream ?? response;
