/**
 * Calls webhooks: POSTs a review as JSON over HTTPS to a URL or a service of the cluster, and reads the answer.
 * Everything about a webhook may be broken or hostile; `hook-transport.ts` has the bounds. It is loaded with the first
 * call, because TLS takes Node some milliseconds, and most clusters have no webhooks.
 */
import type { Duplex } from 'node:stream';
import { clientPath, clientUrl } from '../../access/shared/client-path.ts';
import type { WebhookClientConfig } from '../../api/generated/types.ts';
import { cannotUnmarshal } from '../../api/model/go-format.ts';
import { servicePortDefault } from '../../api/rules/admission/webhook-client.ts';
import { JsonError } from '../../api/text/json.ts';
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { readSentJson } from '../../registry/sliced-json.ts';
import { answerProblem } from './answer-problem.ts';
import type { HookAnswer, HookPlace, HookTransport } from './hook-transport.ts';

/** Opens a connection to a port of a service. Its errors are shown to users, so they are in Go's words. */
export type ServiceDial = (namespace: string, name: string, port: number) => Promise<Duplex>;

/** Why a webhook has no valid answer, in the words for clients. */
export class HookCallError extends Error {
  override readonly name = 'HookCallError';
}

const brace = 0x7b;

/** Calls webhooks. */
export interface HookCaller {
  call(config: WebhookClientConfig, review: string, timeoutMs: number): Promise<JsonObject>;
}

export class HookClient implements HookCaller {
  #transport: Promise<HookTransport> | undefined;
  #closed = false;

  constructor(private readonly dial: ServiceDial) {}

  /** The JSON object with which a webhook answers. Throws a HookCallError when no object comes in time. */
  async call(config: WebhookClientConfig, review: string, timeoutMs: number): Promise<JsonObject> {
    const place = hookPlace(config, `timeout=${Math.ceil(timeoutMs / 1000)}s`);
    let answer: HookAnswer;
    try {
      const transport = await this.#load();
      answer = await transport.post(place, review, timeoutMs);
    } catch (error) {
      const post = `Post ${JSON.stringify(place.url)}`;
      throw new HookCallError(`${post}: ${(error as Error).message}`, { cause: error });
    }
    return reviewOf(answer);
  }

  /** Ends all calls. */
  close(): void {
    this.#closed = true;
    void this.#transport?.then((transport) => transport.close());
  }

  #load(): Promise<HookTransport> {
    if (this.#closed) throw new Error('context canceled');
    this.#transport ??= import('./hook-transport.ts').then(
      ({ HookTransport }) => new HookTransport(this.dial),
    );
    return this.#transport;
  }
}

function hookPlace({ url, service, caBundle = '' }: WebhookClientConfig, query: string): HookPlace {
  if (url !== undefined) return { url: `${clientUrl(url)}?${query}`, caBundle, service: undefined };
  const { namespace = '', name = '', port = servicePortDefault, path = '' } = service ?? {};
  const address = `https://${name}.${namespace}.svc:${port}${clientPath(path)}`;
  return { url: `${address}?${query}`, caBundle, service: { namespace, name, port } };
}

const typeMeta =
  'value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/** Annotations of an answer that are read: further ones are dropped before they are looked at (`webhooks/review.ts`). */
export const annotationsMax = 1_000;
const annotationBound = { name: 'auditAnnotations', max: annotationsMax };

async function reviewOf(answer: HookAnswer): Promise<JsonObject> {
  const { code, body } = answer;
  // A body that is not JSON is treated as text, because Kubernetes would read it as YAML.
  let value: unknown = body.toString('latin1');
  let problem: string | undefined;
  try {
    ({ value } = await readSentJson(body, annotationBound));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    if (body[0] === brace) problem = error.message;
  }
  if (code < 200 || code > 299) throw new HookCallError(answerProblem(answer, value));
  if (isJsonObject(value)) return value;
  throw new HookCallError(
    `couldn't get version/kind; json parse error: ${problem ?? cannotUnmarshal(value, typeMeta)}`,
  );
}
