/** An HTTPS server that plays webhooks in tests. Each path has a behaviour; every call is noted. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Authority, makeAuthority, servingUsages } from '../../pki/authority.ts';

export interface HookCallNote {
  readonly hook: string;
  readonly query: string;
  readonly method: string | undefined;
  readonly contentType: string | undefined;
  readonly accept: string | undefined;
  readonly review: any;
}

/** What a path answers: some of an AdmissionReview's response, a text, or whatever a function does. */
export interface HookBehaviour {
  readonly allowed?: boolean;
  readonly status?: object;
  readonly warnings?: readonly string[];
  readonly auditAnnotations?: Readonly<Record<string, string>>;
  /** A JSON patch. */
  readonly patch?: readonly object[];
  readonly patchType?: string | null;
  readonly uid?: string;
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly raw?: string;
  readonly contentType?: string;
  readonly httpStatus?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly delayMs?: number;
  /** Rename one field of the spec in a ConversionReview. */
  readonly convert?: {
    readonly from?: string;
    readonly to?: string;
    readonly rename?: readonly [string, string];
    readonly fail?: string;
  };
  answer?(request: IncomingMessage, response: ServerResponse, review: HookCallNote['review']): void;
}

const dayMs = 24 * 3600 * 1000;

export class HookHost {
  readonly calls: HookCallNote[] = [];
  readonly hooks = new Map<string, HookBehaviour>();
  readonly #authority: Authority;
  readonly #server;
  readonly #cert: string;

  constructor(
    hosts: readonly string[] = ['127.0.0.1', 'localhost'],
    nowMs = Date.now(),
    commonName = hosts[0]!,
  ) {
    this.#authority = new Authority(makeAuthority('hooks', nowMs));
    const { cert, key } = this.#authority.issue(
      { subject: { commonName }, usages: servingUsages, hosts, lifeMs: dayMs },
      nowMs,
    );
    this.#cert = cert;
    this.#server = createServer({ cert, key }, (request, response) => this.#serve(request, response));
  }

  /** Its own certificate, without the authority that signed it, in base64. */
  get leaf(): string {
    return Buffer.from(this.#cert).toString('base64');
  }

  /** In base64, as configurations have it. */
  get ca(): string {
    return Buffer.from(this.#authority.pem.cert).toString('base64');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  take(): HookCallNote[] {
    return this.calls.splice(0);
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const [hook = '', query = ''] = request.url!.split('?');
      const review = JSON.parse(Buffer.concat(chunks).toString() || 'null');
      const { 'content-type': contentType, accept } = request.headers;
      this.calls.push({ hook, query, method: request.method, contentType, accept, review });
      const behaviour = this.hooks.get(hook);
      const send = (): void => {
        if (behaviour?.answer) behaviour.answer(request, response, review);
        else respond(response, behaviour, review);
      };
      if (behaviour?.delayMs) setTimeout(send, behaviour.delayMs).unref();
      else send();
    });
  }
}

function respond(
  response: ServerResponse,
  behaviour: HookBehaviour | undefined,
  review: HookCallNote['review'],
): void {
  if (!behaviour) return void response.writeHead(404, { 'Content-Type': 'text/plain' }).end('no such hook');
  const { httpStatus = 200, contentType = 'application/json', headers } = behaviour;
  response.writeHead(httpStatus, { 'Content-Type': contentType, ...headers });
  response.end(behaviour.raw ?? JSON.stringify(answerTo(review, behaviour)));
}

function answerTo(review: HookCallNote['review'], behaviour: HookBehaviour): object {
  const { allowed, status, warnings, auditAnnotations, patch, patchType, convert } = behaviour;
  const head = {
    apiVersion: behaviour.apiVersion ?? review?.apiVersion,
    kind: behaviour.kind ?? review?.kind,
  };
  if (convert) return { ...head, response: converted(review.request, convert) };
  const type = patchType === null ? undefined : (patchType ?? (patch && 'JSONPatch'));
  return {
    ...head,
    response: {
      uid: behaviour.uid ?? review?.request?.uid,
      allowed,
      status,
      warnings,
      auditAnnotations,
      ...(patch ? { patch: Buffer.from(JSON.stringify(patch)).toString('base64') } : {}),
      ...(type ? { patchType: type } : {}),
    },
  };
}

function converted(
  request: HookCallNote['review'],
  { fail, to, rename }: NonNullable<HookBehaviour['convert']>,
): object {
  const { uid, desiredAPIVersion } = request;
  if (fail) return { uid, convertedObjects: [], result: { status: 'Failure', message: fail } };
  const [one, other] = rename!;
  const [from, into] = desiredAPIVersion.endsWith(`/${to}`) ? [one, other] : [other, one];
  const convertedObjects = structuredClone(request.objects);
  for (const object of convertedObjects) {
    object.apiVersion = desiredAPIVersion;
    if (!object.spec || !(from in object.spec)) continue;
    object.spec[into] = object.spec[from];
    delete object.spec[from];
  }
  return { uid, convertedObjects, result: { status: 'Success' } };
}
