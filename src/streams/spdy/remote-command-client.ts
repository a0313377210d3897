/**
 * The client of a kubelet's exec and attach: runs a session on another node over SPDY. It has the interface
 * of a session handler, so callers use it as if the session ran here.
 */
import type { Duplex, Readable, Writable } from 'node:stream';
import type {
  Session,
  SessionHandler,
  SessionResult,
  SessionWish,
  TerminalSize,
} from '../session/session.ts';
import { SpdyConnection } from './spdy-connection.ts';
import type { SpdyStream } from './spdy-stream.ts';
import { type SpdyUpgraded, type SpdyUpgradeRequest, upgradeToSpdy } from './spdy-upgrade.ts';

/** Maximum size of a status, which has a few hundred bytes. */
const statusBytesMax = 64 * 1024;
const exitCodeMax = 255;

/** Versions of the protocol, most preferred first. */
const remoteCommandProtocols = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
] as const;

/** What a protocol version supports; a kubelet that names none speaks v1. */
function protocolOf(name: string) {
  const known = Number(/^v([2-5])\.channel\.k8s\.io$/.exec(name)?.[1] ?? 1);
  return { endsStdin: known >= 2, resizes: known >= 3, statusObject: known >= 4 };
}

/** Asks the kubelet for a session; a refusal throws with the words of Go's client. */
export async function openRemoteCommand(
  connect: () => Promise<Duplex>,
  request: Omit<SpdyUpgradeRequest, 'protocols'>,
  signal?: AbortSignal,
): Promise<SpdyUpgraded> {
  const answer = await upgradeToSpdy(connect, { ...request, protocols: remoteCommandProtocols }, signal);
  if (!('refused' in answer)) return answer;
  throw new Error(`unable to upgrade connection: ${answer.refused.body.toString().trim()}`);
}

/** A session handler that runs on a kubelet. Its failures have the kubelet's text. */
export function remoteCommand(open: () => Promise<SpdyUpgraded>, wish: SessionWish): SessionHandler {
  return async (session) => {
    const { socket, head, protocol } = await open();
    const connection = new SpdyConnection(socket, { role: 'client', head });
    const leave = (): void => connection.close();
    session.gone.addEventListener('abort', leave);
    if (session.gone.aborted) leave();
    try {
      return await run(connection, protocolOf(protocol), session, wish);
    } finally {
      session.gone.removeEventListener('abort', leave);
      connection.close();
    }
  };
}

/**
 * Opens the streams one after the other, and uses each as soon as it is open; resolves when all output has
 * arrived.
 */
async function run(
  connection: SpdyConnection,
  protocol: ReturnType<typeof protocolOf>,
  session: Session,
  wish: SessionWish,
): Promise<SessionResult> {
  const open = (streamType: string) => connection.openStream({ streamType });
  const ends: Promise<unknown>[] = [];
  const status = readText(await open('error'));
  if (wish.stdin) copyInput(session.stdin, await open('stdin'), protocol.endsStdin);
  if (wish.stdout) ends.push(copyOutput(await open('stdout'), session.stdout));
  if (wish.stderr && !wish.tty) ends.push(copyOutput(await open('stderr'), session.stderr));
  if (wish.tty && protocol.resizes) sendSizes(session, await open('resize'));
  await Promise.all(ends);
  return protocol.statusObject ? resultOfStatus(await status) : resultOfText(await status);
}

function copyInput(stdin: Readable | undefined, stream: SpdyStream, endsStdin: boolean): void {
  stream.resume();
  if (stdin === undefined) return;
  stdin.pipe(stream, { end: endsStdin });
  // A command may close its input early. Discard the rest, so that the client is not blocked.
  const discard = (): void => void stdin.unpipe(stream).resume();
  if (stream.destroyed) discard();
  else stream.once('close', discard);
}

/** Resolves when the stream has ended and all its data is written. */
function copyOutput(stream: SpdyStream, output: Writable | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (output === undefined) stream.resume();
    else stream.pipe(output, { end: false });
    whenEnded(stream, resolve);
  });
}

/** Also calls for a stream that has already ended: a fast kubelet may end it before there is a listener. */
function whenEnded(stream: SpdyStream, act: () => void): void {
  if (stream.readableEnded || stream.destroyed) act();
  else stream.once('end', act).once('close', act);
}

function sendSizes(session: Session, stream: SpdyStream): void {
  stream.resume();
  let newest: TerminalSize | undefined;
  const send = (): void => {
    if (newest === undefined || stream.writableNeedDrain || !stream.writable) return;
    stream.write(`${JSON.stringify({ Width: newest.width, Height: newest.height })}\n`);
    newest = undefined;
  };
  stream.on('drain', send);
  session.onResize((size) => {
    newest = size;
    send();
  });
}

function readText(stream: SpdyStream): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => {
      if (bytes < statusBytesMax) chunks.push(chunk);
      bytes += chunk.length;
    });
    const done = (): void => resolve(Buffer.concat(chunks).toString('utf8', 0, statusBytesMax));
    whenEnded(stream, done);
  });
}

/** Before v4 the error stream has only text, and only for failures. */
function resultOfText(text: string): SessionResult {
  return text === '' ? { kind: 'success' } : failure(`error executing remote command: ${text}`);
}

interface Status {
  readonly status?: unknown;
  readonly message?: unknown;
  readonly reason?: unknown;
  readonly details?: {
    readonly causes?: readonly { readonly reason?: unknown; readonly message?: unknown }[];
  };
}

/** Parses the status as Go's client does, except that a missing status is a failure: the connection was cut. */
function resultOfStatus(text: string): SessionResult {
  if (text === '') return failure('the connection to the node ended before the session did');
  let status: Status;
  try {
    status = JSON.parse(text) as Status;
  } catch {
    return failure(`error stream protocol error: not a status: ${JSON.stringify(text.slice(0, 200))}`);
  }
  if (status?.status === 'Success') return { kind: 'success' };
  if (status?.status !== 'Failure') return failure('error stream protocol error: unknown error');
  return status.reason === 'NonZeroExitCode' ? resultOfExit(status) : failure(`${status.message ?? ''}`);
}

function resultOfExit({ details }: Status): SessionResult {
  if (details === undefined || details === null)
    return failure('error stream protocol error: details must be set');
  const causes = Array.isArray(details.causes) ? details.causes : [];
  const cause = causes.find((one) => one?.reason === 'ExitCode');
  if (cause === undefined) return failure('error stream protocol error: no ExitCode cause given');
  const code =
    typeof cause.message === 'string' && /^\d{1,3}$/.test(cause.message) ? Number(cause.message) : Number.NaN;
  if (!(code <= exitCodeMax)) {
    return failure(
      `error stream protocol error: invalid exit code value ${JSON.stringify(cause.message ?? '')}`,
    );
  }
  return { kind: 'exit', code };
}

const failure = (message: string): SessionResult => ({ kind: 'failure', message });
