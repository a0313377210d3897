/**
 * The webhook authorizer: another server is asked whether a user may do something, by a SubjectAccessReview. Its answers are
 * remembered for a while, and the same question is asked once at a time.
 */
import { createHash } from 'node:crypto';
import {
  type Action,
  type Attributes,
  type Authorizer,
  type Decision,
  noRules,
  type UserRules,
} from '../../api/access.ts';
import type { LabelRequirement } from '../../api/labelselector.ts';
import { isJsonObject, type JsonObject } from '../../api/object.ts';
import type { User } from '../../api/user.ts';
import { BoundedCache } from '../boundedcache.ts';
import { callRemote } from '../remotecall.ts';
import type { RemoteService } from '../remoteconfiguration.ts';

/** Questions that are asked at the same time; more fail at once. */
const callsMax = 200;
const rememberedMax = 10_000;
/** Of an answer's reason; it goes into answers and logs. */
const reasonCharsMax = 10_000;
const attemptsMax = 5;
const firstPauseMs = 500;
const pauseFactor = 1.5;

export interface WebhookOptions {
  readonly service: RemoteService;
  readonly version: 'v1' | 'v1beta1';
  /** How long answers that allow, and those that do not, are remembered; 0: not at all. */
  readonly allowedMs: number;
  readonly refusedMs: number;
  /** All attempts for one question together. */
  readonly timeoutMs: number;
  /** What a failure means: nothing, or a refusal that no other authorizer can change. */
  readonly onFailure: 'NoOpinion' | 'Deny';
  readonly nowMs: () => number;
}

interface Remembered {
  readonly decision: Decision;
  readonly untilMs: number;
}

export class WebhookAuthorizer implements Authorizer {
  readonly #remembered = new BoundedCache<Remembered>(rememberedMax);
  readonly #asking = new Map<string, Promise<Decision>>();
  #closed = false;

  constructor(private readonly options: WebhookOptions) {}

  decide(attributes: Attributes): Decision | Promise<Decision> {
    const review = JSON.stringify(this.#review(attributes));
    const key = createHash('sha256').update(review).digest('base64');
    const known = this.#remembered.get(key);
    if (known && known.untilMs > this.options.nowMs()) return known.decision;
    let asking = this.#asking.get(key);
    if (!asking) {
      if (this.#asking.size >= callsMax)
        return this.#failed(new Error('too many questions to the authorization webhook are open'));
      asking = this.#ask(review, key).finally(() => this.#asking.delete(key));
      this.#asking.set(key, asking);
    }
    return asking;
  }

  rulesFor(): UserRules {
    const errors = ['webhook authorizer does not support user rule resolution'];
    return { ...noRules, incomplete: true, errors };
  }

  /** Closes it when the questions that are open are answered. */
  async retire(): Promise<void> {
    await Promise.allSettled(this.#asking.values());
    this.close();
  }

  close(): void {
    this.#closed = true;
    this.options.service.agent.destroy();
  }

  get #apiVersion(): string {
    return `authorization.k8s.io/${this.options.version}`;
  }

  #review({ user, info }: Attributes): JsonObject {
    const groups = this.options.version === 'v1' ? { groups: user.groups } : { group: user.groups };
    return {
      kind: 'SubjectAccessReview',
      apiVersion: this.#apiVersion,
      spec: { ...attributesOf(info), ...userOf(user), ...groups },
    };
  }

  async #ask(review: string, key: string): Promise<Decision> {
    let decision: Decision;
    try {
      decision = decisionOf(await this.#post(review), this.#apiVersion);
    } catch (error) {
      return this.#failed(error as Error);
    }
    const { allowedMs, refusedMs, nowMs } = this.options;
    const keptMs = decision.allowed ? allowedMs : refusedMs;
    if (keptMs > 0) this.#remembered.set(key, { decision, untilMs: nowMs() + keptMs });
    return decision;
  }

  #failed({ message }: Error): Decision {
    return {
      allowed: false,
      ...(this.options.onFailure === 'Deny' ? { denied: true } : {}),
      reason: '',
      error: message,
    };
  }

  /** The text of the answer. Tried again when the service is busy or fails. */
  async #post(body: string): Promise<string> {
    const { service, timeoutMs } = this.options;
    const { url, headers, agent } = service;
    const endMs = performance.now() + timeoutMs;
    let pauseMs = firstPauseMs;
    for (let attempt = 1; ; attempt++) {
      const leftMs = endMs - performance.now();
      const { code, text } = await callRemote({
        url,
        method: 'POST',
        headers,
        body,
        agent,
        timeoutMs: leftMs,
      });
      if (code === 200 || code === 201) return text;
      const again = code === 429 || code >= 500;
      if (!again || attempt === attemptsMax || pauseMs >= endMs - performance.now() || this.#closed)
        throw new Error(`the authorization webhook answers with status ${code}`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
      pauseMs *= pauseFactor;
    }
  }
}

const userOf = ({ name, uid, extra }: User): JsonObject => ({
  user: name,
  ...(uid ? { uid } : {}),
  ...(extra && Object.keys(extra).length ? { extra } : {}),
});

function attributesOf({ verb, path, resource }: Action): JsonObject {
  if (!resource) return { nonResourceAttributes: { path, verb } };
  const { group, version, namespace, name, subresource, fieldSelector, labelSelector } = resource;
  const given = { namespace, verb, group, version, resource: resource.resource, subresource, name };
  const terms = fieldSelector?.terms.map(({ path: key, op, value }) => ({
    key,
    operator: op === '=' ? 'In' : 'NotIn',
    values: [value],
  }));
  const requirements = labelSelector?.requirements.flatMap(requirementOf);
  return {
    resourceAttributes: {
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value)),
      ...(terms?.length ? { fieldSelector: { requirements: terms } } : {}),
      ...(requirements?.length ? { labelSelector: { requirements } } : {}),
    },
  };
}

const operators: Readonly<Record<LabelRequirement['operator'], string | undefined>> = {
  '=': 'In',
  in: 'In',
  '!=': 'NotIn',
  notin: 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
  // Reviews have no words for these; without them the question is about more objects, not fewer.
  '>': undefined,
  '<': undefined,
};

function requirementOf({ key, operator, values }: LabelRequirement): JsonObject[] {
  const word = operators[operator];
  return word ? [{ key, operator: word, ...(values.length ? { values } : {}) }] : [];
}

function decisionOf(text: string, apiVersion: string): Decision {
  const review: unknown = JSON.parse(text);
  if (!isJsonObject(review) || review.kind !== 'SubjectAccessReview' || review.apiVersion !== apiVersion)
    throw new Error(
      `the authorization webhook answers with something that is not a SubjectAccessReview of ${apiVersion}`,
    );
  const { allowed, denied, reason } = isJsonObject(review.status) ? review.status : {};
  const given = typeof reason === 'string' ? reason.slice(0, reasonCharsMax) : '';
  if (allowed === true && denied === true)
    return {
      allowed: false,
      denied: true,
      reason: given,
      error: 'webhook subject access review returned both allow and deny response',
    };
  if (denied === true) return { allowed: false, denied: true, reason: given };
  return { allowed: allowed === true, reason: given };
}
