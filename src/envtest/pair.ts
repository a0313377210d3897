/**
 * How the two stand-ins find each other: the API server asks its etcd, at the URL of `--etcd-servers`, for the data
 * folder. It writes this one request itself: Node's HTTP client took 15 ms of a start, because every start compiles its
 * functions anew.
 */
import { connect } from 'node:net';

/** The path; answered to programs of this machine only. */
export const pairPath = '/wherry/pair';

export interface Pair {
  readonly dataDir: string;
  readonly requestBytesMax: number;
  /** Whether writes need not wait for the disk. */
  readonly unsafeNoFsync: boolean;
}

/** Nothing, or something else, answers at these addresses. */
class PairError extends Error {}

const retryMs = 100;
const answerMaxMs = 2_000;
const answerMaxBytes = 64 * 1024;

/** Asks one URL after the other, until one answers or the time is over. */
export async function findPair(urls: readonly string[], withinMs: number, now: () => number): Promise<Pair> {
  const endMs = now() + withinMs;
  for (;;) {
    for (const url of urls) {
      const answer = await ask(new URL(pairPath, url));
      if (answer === undefined) continue;
      const pair = pairOf(answer);
      if (pair) return pair;
      throw new PairError(
        `${url} is not the etcd that wherry envtest writes beside this kube-apiserver; for an etcd that is one, use wherry serve --store etcd`,
      );
    }
    if (now() >= endMs) throw new PairError('error creating storage factory: context deadline exceeded');
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

/** Whether it still answers. */
export const answers = async (urls: readonly string[]): Promise<boolean> => {
  for (const url of urls) if ((await ask(new URL(pairPath, url))) !== undefined) return true;
  return false;
};

function pairOf(text: string): Pair | undefined {
  try {
    const { dataDir, requestBytesMax, unsafeNoFsync } = JSON.parse(text) as Partial<Pair>;
    if (typeof dataDir !== 'string' || typeof requestBytesMax !== 'number') return undefined;
    return { dataDir, requestBytesMax, unsafeNoFsync: unsafeNoFsync === true };
  } catch {
    return undefined;
  }
}

/** The body of an answer, whatever its status; undefined when none came. */
function ask({ hostname, host, port, pathname }: URL): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || 80),
      timeout: answerMaxMs,
    });
    socket.setEncoding('utf8');
    // HTTP/1.0: the answer comes in one piece, and the connection ends with it.
    socket.write(`GET ${pathname} HTTP/1.0\r\nHost: ${host}\r\n\r\n`);
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (text.length > answerMaxBytes) socket.destroy();
    });
    socket.on('timeout', () => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('close', () => {
      const [head = '', ...body] = text.split('\r\n\r\n');
      resolve(head.startsWith('HTTP/1.') ? body.join('\r\n\r\n') : undefined);
    });
  });
}
