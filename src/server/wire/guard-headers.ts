/**
 * Guard headers, sent with every answer of the local door, which asks for no credentials: no other site's page may embed it (`Cross-Origin-Resource-Policy`), and no
 * browser may take it for another type than it says (`X-Content-Type-Options`). A browser that is talked into asking then
 * keeps the answer from the page. Pages that ask by CORS are not affected: whether they may is decided by their origin.
 */
import { type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';

const guards = {
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;
const guardNames: ReadonlySet<string> = new Set(Object.keys(guards).map((name) => name.toLowerCase()));
const guardLengths: ReadonlySet<number> = new Set([...guardNames].map(({ length }) => length));
const guardList: readonly string[] = Object.entries(guards).flat();

/** Whether a header is one of them; most are told apart by their length. */
export const isGuard = (name: string): boolean =>
  guardLengths.has(name.length) && guardNames.has(name.toLowerCase());

/** As lines of a head, each with its end. */
export const guardLines = Object.entries(guards)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

type Fields = OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined;

/** A response of Node's server that adds them to what a handler says. A proxied target cannot say otherwise. */
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

/** The first bytes of an answer that is written to a bare socket, with the lines behind its status line. */
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
