/** Where the body of an answer is written as a stream: Node's response itself, or the stream behind one of HTTP/2. */
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';

export const bodySink = (response: ServerResponse): Writable =>
  (response as { readonly stream?: Writable }).stream ?? response;
