/** Answers: headers, Status errors, and writing bodies. */
import { constants, gzip } from 'node:zlib';
import type { Flow } from '../../access/fairness/flow-control.ts';
import { AuthorizationFailure, internal, type Status, StatusError } from '../../api/errors/errors.ts';
import { type Model, modelOf } from '../../api/model/model.ts';
import { encodeDocument } from '../../api/protobuf/protobuf-envelope.ts';
import { jsonText } from '../../api/text/json-text.ts';
import type { JsonObject } from '../../api/text/object.ts';
import type { RequestTrace } from '../../request-trace.ts';
import { turnToAnswer } from '../../time-slices.ts';
import { Pace } from '../wire/pace.ts';
import type { ApiResponse, Headers, RequestContext } from './context.ts';
import { type Negotiated, protobufType, wantsProtobufErrors } from './negotiation.ts';

/** Bodies of at least this size are compressed for clients that accept it. */
export const gzipBytesMin = 128 * 1024;
/** Longer bodies leave in slices of this size, each in a turn of the event loop: over TLS one takes some milliseconds. */
const turnBytes = 1024 * 1024;
/** Time a client has to finish its body and read the answer, when it is answered before it has sent the whole body. */
const lingerMs = 500;
/** Total length of warnings; beyond it each is cut. */
const warningsTextMax = 4096;
const warningCutAt = 256;

const jsonType = 'application/json';

/** Headers of every API answer. */
export function apiHeaders(context: RequestContext, contentType = jsonType): Headers {
  const headers: Headers = {
    'Audit-Id': context.auditId,
    'Cache-Control': 'no-cache, private',
    'Content-Type': contentType,
  };
  if (context.warnings.length) headers.Warning = warningHeaders(context.warnings);
  if (context.flow) Object.assign(headers, flowHeaders(context.flow));
  if (context.trace?.isShown) headers['Server-Timing'] = timing(context.trace);
  return headers;
}

/** The same headers as a flat list, for the most frequent answers: Node writes a list several times faster. */
function headerList(context: RequestContext, length: number, contentType: string): string[] {
  const list = [
    'Audit-Id',
    context.auditId,
    'Cache-Control',
    'no-cache, private',
    'Content-Type',
    contentType,
    'Content-Length',
    String(length),
  ];
  if (context.warnings.length)
    for (const text of warningHeaders(context.warnings)) list.push('Warning', text);
  if (context.flow) list.push(schemaHeader, context.flow.schemaUid, levelHeader, context.flow.level.uid);
  if (context.trace?.isShown) list.push('Server-Timing', timing(context.trace));
  return list;
}

/** The phases up to now, for browsers and other clients that show them. */
function timing(trace: RequestTrace): string {
  trace.end('answer');
  return trace.header;
}

/**
 * Headers that name the flow schema and priority level. kubectl takes them as a sign that the server limits requests,
 * and does not limit its own.
 */
const flowHeaders = ({ schemaUid, level }: Flow) => ({
  [schemaHeader]: schemaUid,
  [levelHeader]: level.uid,
});

const schemaHeader = 'X-Kubernetes-PF-FlowSchema-UID';
const levelHeader = 'X-Kubernetes-PF-PriorityLevel-UID';

function warningHeaders(warnings: readonly string[]): string[] {
  let texts = [...new Set(warnings)];
  if (texts.reduce((sum, text) => sum + text.length, 0) > warningsTextMax)
    texts = texts
      .map((text) => [...text.slice(0, 2 * warningCutAt)].slice(0, warningCutAt).join(''))
      .slice(0, warningsTextMax / warningCutAt);
  return texts.map((text) => {
    const quoted = text.replace(/[\u0000-\u001f\u007f]/g, ' ').replace(/[\\"]/g, '\\$&');
    // Header bytes are UTF-8, as Go writes them; Node expects them as Latin-1 characters.
    return `299 - "${Buffer.from(quoted, 'utf8').toString('latin1')}"`;
  });
}

/** Answers with finished bytes: JSON text, a line feed included, or a protobuf document. */
export function answerDocument(
  context: RequestContext,
  code: number,
  document: Buffer,
  contentType = jsonType,
): void | Promise<void> {
  if (document.length >= gzipBytesMin) return answerBytes(context, code, [document], contentType);
  context.response.writeHead(code, headerList(context, document.length, contentType));
  context.response.end(document);
}

/**
 * Answers with a value in the negotiated form. `model` is for paths that have answers in protobuf.
 */
export async function answerValue(
  context: RequestContext,
  code: number,
  value: unknown,
  negotiated: Negotiated,
  model?: Model,
): Promise<void> {
  if (negotiated.format === 'protobuf') return answerMessage(context, code, value as JsonObject, model!);
  if (negotiated.format === 'yaml') {
    const text = Buffer.from(await yamlOf(value));
    context.response.writeHead(code, {
      ...apiHeaders(context, 'application/yaml'),
      'Content-Length': String(text.length),
    });
    context.response.end(text);
    return;
  }
  const text = context.pretty(negotiated) ? jsonText(value, 2) : `${jsonText(value)}\n`;
  await answerBytes(context, code, [Buffer.from(text)]);
}

/** YAML text; that of a large object is built in turns, so that other work can run in between. */
async function yamlOf(value: unknown): Promise<string> {
  const { yamlParts } = await import('../../api/text/yaml-writing.ts');
  const pace = new Pace();
  let text = '';
  for (const part of yamlParts(value)) {
    text += part;
    const pause = pace.pause();
    if (pause) await pause;
  }
  return text;
}

/** Answers with a Status, which is never transformed. */
export const answerStatus = (
  context: RequestContext,
  code: number,
  status: Partial<Status>,
  negotiated: Negotiated,
): Promise<void> =>
  answerValue(context, code, status, { ...negotiated, transform: undefined }, modelOf('Status'));

async function answerMessage(
  context: RequestContext,
  code: number,
  value: JsonObject,
  model: Model,
): Promise<void> {
  const document = messageDocument(value, model);
  context.audited?.takeAnswer(document.length, () => value);
  await answerDocument(context, code, document, protobufType);
}

/** Encodes a value as protobuf. Documents as old as Kubernetes 1.1 have no apiVersion and get `v1`. */
const messageDocument = ({ kind, apiVersion = 'v1', ...value }: JsonObject, model: Model): Buffer =>
  encodeDocument({ kind: String(kind), apiVersion: String(apiVersion) }, model, value).bytes;

/** Answers with text in parts, under back-pressure, compressed when it is long and the client accepts that. */
export async function answerBytes(
  context: RequestContext,
  code: number,
  parts: readonly Buffer[],
  contentType = jsonType,
): Promise<void> {
  const { response } = context;
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  if (size >= gzipBytesMin && context.info.method === 'GET' && acceptsGzip(context)) {
    const headers = apiHeaders(context, contentType);
    const compressed = await new Promise<Buffer>((resolve, reject) =>
      gzip(
        parts.length === 1 ? parts[0]! : Buffer.concat(parts, size),
        { level: constants.Z_BEST_SPEED },
        (error, bytes) => (error ? reject(error) : resolve(bytes)),
      ),
    );
    headers['Content-Encoding'] = 'gzip';
    headers.Vary = 'Accept-Encoding';
    response.writeHead(code, { ...headers, 'Content-Length': String(compressed.length) });
    return endWith(context, [compressed]);
  }
  response.writeHead(code, headerList(context, size, contentType));
  return endWith(context, parts);
}

/** Ends an answer whose head was written with a body, which leaves in slices if it is long. */
export async function endWith(context: RequestContext, parts: readonly Buffer[]): Promise<void> {
  const { response } = context;
  if (parts.reduce((sum, part) => sum + part.length, 0) > turnBytes) return sendInTurns(context, parts);
  // Corked: the header and all parts leave in one write.
  response.cork();
  for (const part of parts.slice(0, -1)) response.write(part);
  response.end(parts.at(-1));
}

async function sendInTurns(context: RequestContext, parts: readonly Buffer[]): Promise<void> {
  const { response } = context;
  for (const part of parts)
    for (let at = 0; at < part.length; at += turnBytes) {
      if (response.destroyed) return;
      if (!response.write(part.subarray(at, at + turnBytes))) await taken(context);
      // For a client that reads fast, `drain` comes in the same tick. A head or an end leaves with the slice beside it.
      if (part.length >= turnBytes) await turnToAnswer();
    }
  response.end();
}

/**
 * Waits until the client has read what was sent. The request gives its seat back meanwhile, because the rest is paced
 * by the client.
 */
export function taken(context: RequestContext): Promise<void> | undefined {
  const { response } = context;
  if (response.destroyed) return undefined;
  context.leaveSeat();
  return drained(response);
}

export const acceptsGzip = (context: RequestContext): boolean =>
  /(^|[\s,])gzip\s*(;\s*q=(?!0(\.0*)?\s*(,|$))|,|$)/.test(
    String(context.request.headers['accept-encoding'] ?? ''),
  );

export function drained(response: ApiResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}

/** Answers with the Status of an error: as JSON or in protobuf, never as a table. */
export function answerError(context: RequestContext, error: unknown, report: (error: Error) => void): void {
  const { response } = context;
  if (response.headersSent) {
    // The header was sent already, so the answer can only be cut off. A slow client is not reported as a server
    // error.
    if (!(error instanceof StatusError)) report(error as Error);
    response.destroy();
    return;
  }
  let status: StatusError;
  if (error instanceof StatusError) status = error;
  else {
    report(error as Error);
    if (context.audited) context.audited.isBroken = true;
    status = internal('the server met a condition it was not made for');
  }
  context.failure = status.status;
  // The client is gone: an answer would cost more than the request, and make an error of its own.
  if (response.destroyed) return;
  if (status instanceof AuthorizationFailure) return answerFailedDecision(context, status);
  const isMessage = wantsProtobufErrors(context.request.headers.accept);
  const body = isMessage ? errorMessage(context, status.status) : errorText(context, status.status);
  const headers = apiHeaders(context, isMessage ? protobufType : jsonType);
  const retryAfter = status.status.details?.retryAfterSeconds;
  if (retryAfter) headers['Retry-After'] = String(retryAfter);
  // The message repeats what the client sent: browsers must not take it for HTML.
  if (context.decision?.allowed === false) headers['X-Content-Type-Options'] = 'nosniff';
  answerEarly(context, status.code, headers, body);
}

const errorText = (context: RequestContext, status: Status): string =>
  isPrettyError(context) ? JSON.stringify(status, null, 2) : `${JSON.stringify(status)}\n`;

function errorMessage(context: RequestContext, status: Status): Buffer {
  const document = messageDocument(status as unknown as JsonObject, modelOf('Status'));
  context.audited?.takeAnswer(document.length, () => status);
  return document;
}

/** Whether to indent an error. The query itself may be invalid; then `pretty` cannot be read from it. */
function isPrettyError(context: RequestContext): boolean {
  try {
    return context.pretty({ format: 'json', transform: undefined, transformVersion: '', pretty: false });
  } catch {
    return false;
  }
}

/** Answers a request whose body may not have been read. */
function answerEarly(context: RequestContext, code: number, headers: Headers, text: string | Buffer): void {
  const { response } = context;
  const unread = !context.request.complete && hasBody(context);
  // The rest of an unread body would be parsed as the next request.
  if (unread) headers.Connection = 'close';
  response.writeHead(code, { ...headers, 'Content-Length': String(Buffer.byteLength(text)) });
  if (context.info.method === 'HEAD') response.end();
  else if (unread) endLater(context, text);
  else response.end(text);
}

/** Answers 429. Kubernetes answers in plain text here, and clients retry by themselves. */
export function answerOverload(context: RequestContext, retryAfter: number): void {
  const headers: Headers = {
    ...apiHeaders(context, 'text/plain; charset=utf-8'),
    'Retry-After': String(retryAfter),
  };
  answerEarly(context, 429, headers, 'Too many requests, please try again later.\n');
}

function answerFailedDecision(context: RequestContext, { message }: AuthorizationFailure): void {
  const headers: Headers = {
    ...apiHeaders(context, 'text/plain; charset=utf-8'),
    'X-Content-Type-Options': 'nosniff',
  };
  answerEarly(context, 500, headers, `${message}\n`);
}

const hasBody = ({ request: { headers } }: RequestContext): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/**
 * Sends the answer and ends the connection later: closing while the client is still sending would reset the connection,
 * and the client would lose the answer.
 */
function endLater({ http: { request, response } }: RequestContext, text: string | Buffer): void {
  response.write(text);
  const end = (): void => {
    clearTimeout(timer);
    if (!response.writableEnded) response.end();
  };
  const timer = setTimeout(end, lingerMs);
  request.on('end', end).on('close', end).resume();
}

export function answerText(
  context: RequestContext,
  code: number,
  text: string,
  contentType = 'text/plain; charset=utf-8',
): void {
  context.response.writeHead(code, {
    'Cache-Control': 'no-cache, private',
    'Content-Type': contentType,
    'Content-Length': String(Buffer.byteLength(text)),
  });
  context.response.end(context.info.method === 'HEAD' ? undefined : text);
}
