/**
 * Plain requests: the common case, parsed in a fraction of the time of Node's parser. A plain request has arrived
 * with its whole body, has no framing header but Content-Length, and is not followed by other bytes. Everything else
 * goes to Node's parser.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { isHostText } from './protocol-refusal.ts';

/** Largest request that is buffered here while its body arrives. */
const plainBytesMax = 256 * 1024;

/** Header lines of a plain request; those with more are read, and perhaps refused, by Node's server. */
const linesMax = 200;

const methods = new Set(['DELETE', 'GET', 'PATCH', 'POST', 'PUT']);
const headEnd = Buffer.from('\r\n\r\n');

/** Headers that change how a request or its connection is read. */
const framing = new Set([
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export class PlainRequest {
  /** The request is complete. */
  readonly complete = true;

  constructor(
    readonly socket: Socket,
    readonly method: string,
    readonly url: string,
    readonly headers: IncomingHttpHeaders,
    readonly body: Buffer,
  ) {}
}

/** Parses the requests of one connection. */
export class PlainReader {
  /**
   * The header of the previous request. Clients repeat their headers, so the parsed fields are cached and shared,
   * frozen.
   */
  #fieldsText: string | undefined;
  #fields: IncomingHttpHeaders = {};

  constructor(
    private readonly socket: Socket,
    private readonly headerBytesMax: number,
  ) {}

  /** The request in the bytes, or its expected length when incomplete; undefined when it is not plain. */
  read(bytes: Buffer): PlainRequest | number | undefined {
    const end = bytes.indexOf(headEnd);
    if (end < 0 || end + headEnd.length > this.headerBytesMax) return undefined;
    const head = bytes.toString('latin1', 0, end + 2);
    const lineEnd = head.indexOf('\r\n');
    const methodEnd = head.indexOf(' ');
    const urlEnd = head.indexOf(' ', methodEnd + 1);
    const method = head.slice(0, methodEnd);
    const url = head.slice(methodEnd + 1, urlEnd);
    if (urlEnd > lineEnd || head.slice(urlEnd, lineEnd) !== ' HTTP/1.1') return undefined;
    if (!methods.has(method) || !/^\/[!-"$-~]*$/.test(url)) return undefined;
    const fields = this.#read(head.slice(lineEnd + 2));
    const length = fields && bodyLength(fields);
    if (length === undefined || (length > 0 && method === 'GET')) return undefined;
    const bodyStart = end + headEnd.length;
    const size = bodyStart + length;
    if (bytes.length < size) return size <= plainBytesMax ? size : undefined;
    if (bytes.length > size) return undefined;
    return new PlainRequest(this.socket, method, url, fields!, bytes.subarray(bodyStart));
  }

  #read(text: string): IncomingHttpHeaders | undefined {
    if (text === this.#fieldsText) return this.#fields;
    const fields = readFields(text);
    if (fields) {
      Object.freeze(fields);
      this.#fieldsText = text;
      this.#fields = fields;
    }
    return fields;
  }
}

/** Parses header fields, one per line; undefined when a line is unusual. */
function readFields(text: string): IncomingHttpHeaders | undefined {
  const fields: IncomingHttpHeaders = {};
  const lines = text.split('\r\n');
  if (lines.length > linesMax) return undefined;
  for (const line of lines.slice(0, -1)) {
    const [, sent = '', value = ''] = /^([A-Za-z][A-Za-z0-9-]*):[\t ]*([\t -~]*)$/.exec(line) ?? [];
    const name = sent.toLowerCase();
    if (name === '' || framing.has(name) || fields[name] !== undefined) return undefined;
    if (name === 'connection' && !/^keep-alive\s*$/i.test(value)) return undefined;
    // Node strips only spaces behind a length, and refuses one with a tab there.
    fields[name] = name === 'content-length' ? withoutBlanks(value) : value.trim();
  }
  // Node's server hands these to the door, which refuses them.
  if (fields.host === undefined || !isHostText(fields.host)) return undefined;
  return fields;
}

/** Removes trailing spaces. A regular expression would take quadratic time for a long row of spaces. */
function withoutBlanks(value: string): string {
  let end = value.length;
  while (end > 0 && value[end - 1] === ' ') end--;
  return value.slice(0, end);
}

function bodyLength(fields: IncomingHttpHeaders): number | undefined {
  const text = fields['content-length'];
  if (text === undefined) return 0;
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
