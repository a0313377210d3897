/** Calls to other servers that take part in authentication and authorization: bounded in time and size. */
import { request as plainRequest } from 'node:http';
import { type Agent, request as tlsRequest } from 'node:https';
import { boundInterim } from '../../interim-answers.ts';
import { Pieces } from '../../pieces.ts';
import { TrustedAgent } from '../../pki/trusted-tls.ts';

const answerBytesMax = 1024 * 1024;

export interface RemoteCall {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Keeps connections open; undefined: Node's default. */
  readonly agent?: Agent;
  /** Timeout of the whole answer. */
  readonly timeoutMs: number;
}

export interface RemoteAnswer {
  readonly code: number;
  readonly text: string;
}

/**
 * Another server has failed: it does not answer, or its answer cannot be used. Such errors have no stack. Any client can
 * cause them, as often as it likes, and where they were thrown says nothing about the reason.
 */
export class RemoteFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RemoteFailure';
    this.stack = message;
  }
}

/** An agent for one server: keeps connections and the TLS settings. */
export const remoteAgent = (options: ConstructorParameters<typeof TrustedAgent>[0]): Agent =>
  new TrustedAgent({ keepAlive: true, maxSockets: 100, ...options });

/** Calls; rejects when the answer is late or too long. */
export function callRemote(call: RemoteCall): Promise<RemoteAnswer> {
  const { url, method, headers, body, agent, timeoutMs } = call;
  return new Promise((resolve, reject) => {
    const isTls = url.startsWith('https:');
    const send = isTls ? tlsRequest : plainRequest;
    const sent = send(
      url,
      {
        method,
        headers: {
          Accept: 'application/json',
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(isTls && agent ? { agent } : {}),
      },
      (response) => {
        const pieces = new Pieces();
        response.on('data', (chunk: Buffer) => {
          if (pieces.add(chunk) > answerBytesMax)
            sent.destroy(new RemoteFailure(`the answer of ${url} has more than ${answerBytesMax} bytes`));
        });
        response.on('end', () => {
          clearTimeout(timer);
          resolve({ code: response.statusCode ?? 0, text: pieces.whole().toString('utf8') });
        });
        response.on('error', (error) => sent.destroy(error));
      },
    );
    boundInterim(sent);
    const timer = setTimeout(
      () => sent.destroy(new RemoteFailure(`${url} has not answered in ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    timer.unref();
    sent.on('error', (error) => {
      clearTimeout(timer);
      reject(error instanceof RemoteFailure ? error : new RemoteFailure(error.message));
    });
    sent.on('close', () => {
      clearTimeout(timer);
      reject(new RemoteFailure(`${url} has closed the connection`));
    });
    sent.end(body);
  });
}
