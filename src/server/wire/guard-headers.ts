/**
 * Guard headers, sent with every answer of the local door, which asks for no credentials. No other site's page may
 * embed the answer (`Cross-Origin-Resource-Policy`), and no browser may guess another type for it
 * (`X-Content-Type-Options`). So even if a page makes a browser send a request, the browser does not show the answer to
 * the page. CORS requests are not affected: their origin decides.
 */
import { type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';

const guards = {
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;
const guardNames: ReadonlySet<string> = new Set(Object.keys(guards).map((name) => name.toLowerCase()));
const guardLengths: ReadonlySet<number> = new Set([...guardNames].map(({ length }) => length));
const guardList: readonly string[] = Object.entries(guards).flat();

/** Whether a header is a guard header; the length rules out most others. */
export const isGuard = (name: string): boolean =>
  guardLengths.has(name.length) && guardNames.has(name.toLowerCase());

/** The headers as lines, each with its line end. */
export const guardLines = Object.entries(guards)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

type Fields = OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined;

/** A response of Node's server that adds the guard headers. A proxied target cannot replace them. */
export class GuardedResponse extends ServerResponse {
  override writeHead(code: number, reason?: string, fields?: Fields): this;
  override writeHead(code: number, fields?: Fields): this;
  override writeHead(code: number, reason?: string | Fields, fields?: Fields): this {
    if (typeof reason === 'string')
      return super.writeHead(code, reason, guarded(fields) as OutgoingHttpHeaders);
    return super.writeHead(code, guarded(reason) as OutgoingHttpHeaders);
  }
}

function guarded(fields: Fields): Fields {
  if (!Array.isArray(fields)) return { ...fields, ...guards };
  const out: OutgoingHttpHeader[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2)
    if (!isGuard(String(fields[i]))) out.push(fields[i]!, fields[i + 1]!);
  out.push(...guardList);
  return out;
}

/** Adds the guard headers to the first bytes of an answer written to a raw socket, after its status line. */
export function guardedHead(bytes: Uint8Array | string): Buffer {
  const text =
    typeof bytes === 'string'
      ? Buffer.from(bytes)
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const lineEnd = text.indexOf('\r\n') + 2;
  const headEnd = text.indexOf('\r\n\r\n');
  if (lineEnd < 2 || headEnd < 0) return text;
  const lines = text.toString('latin1', lineEnd, headEnd + 2).split(/(?<=\r\n)/);
  const kept = lines
    .filter((line) => !guardNames.has(line.slice(0, line.indexOf(':')).toLowerCase()))
    .join('');
  const head = `${text.toString('latin1', 0, lineEnd)}${guardLines}${kept}`;
  return Buffer.concat([Buffer.from(head, 'latin1'), text.subarray(headEnd + 2)]);
}
