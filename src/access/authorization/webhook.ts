/**
 * The webhook authorizer: asks another server whether a user may do something, by a SubjectAccessReview. Match
 * conditions may limit which requests it is asked about.
 */
import { createHash } from 'node:crypto';
import { type Condition, type ConditionOutcome, conditionsOutcome } from '../../api/cel/conditions.ts';
import { anyJson } from '../../api/cel/json-values.ts';
import {
  type Action,
  type Attributes,
  type Authorizer,
  type Decision,
  noRules,
  type UserRules,
} from '../../api/kind/access.ts';
import type { LabelRequirement } from '../../api/kind/label-selector.ts';
import type { JsonObject } from '../../api/text/object.ts';
import type { User } from '../../api/values/user.ts';
import type { RemoteService } from '../shared/remote-configuration.ts';
import { type ReadAnswer, ReviewClient } from '../shared/review-client.ts';

/** Maximum length of the reason in an answer, which is shown to clients and in logs. */
const reasonCharsMax = 10_000;

export interface WebhookOptions {
  readonly service: RemoteService;
  readonly version: 'v1' | 'v1beta1';
  /** How long allowing and other answers are cached; 0: not at all. */
  readonly allowedMs: number;
  readonly refusedMs: number;
  /** Timeout of all attempts for one question together. */
  readonly timeoutMs: number;
  /** What a failure means: no opinion, or a refusal that no other authorizer can override. */
  readonly onFailure: 'NoOpinion' | 'Deny';
  /** The webhook is asked only if all of them hold. */
  readonly conditions?: readonly Condition[];
  readonly nowMs: () => number;
}

const noOpinion: Decision = { allowed: false, reason: '' };

export class WebhookAuthorizer implements Authorizer {
  readonly #client: ReviewClient<Decision>;

  constructor(private readonly options: WebhookOptions) {
    const { service, version, timeoutMs, nowMs } = options;
    this.#client = new ReviewClient({
      service,
      name: 'authorization webhook',
      kind: 'SubjectAccessReview',
      apiVersion: `authorization.k8s.io/${version}`,
      timeoutMs,
      nowMs,
    });
  }

  decide(attributes: Attributes): Decision | Promise<Decision> {
    const outcome = this.#concerned(attributes);
    if (outcome === 'do not hold') return noOpinion;
    if (outcome !== 'hold') return this.#failed(new Error(`cel evaluation error: ${outcome.failure}`));
    const spec = this.#spec(attributes);
    const key = createHash('sha256').update(JSON.stringify(spec)).digest('base64');
    try {
      const decision = this.#client.ask(key, spec, (status) => this.#read(status));
      return decision instanceof Promise ? decision.catch((error: Error) => this.#failed(error)) : decision;
    } catch (error) {
      return this.#failed(error as Error);
    }
  }

  rulesFor(): UserRules {
    const errors = ['webhook authorizer does not support user rule resolution'];
    return { ...noRules, incomplete: true, errors };
  }

  /** Closes the client when all open questions are answered. */
  retire(): Promise<void> {
    return this.#client.retire();
  }

  close(): void {
    this.#client.close();
  }

  #concerned({ user, info }: Attributes): ConditionOutcome {
    const { conditions = [] } = this.options;
    if (conditions.length === 0) return 'hold';
    return conditionsOutcome(conditions, { request: anyJson(requestOf(user, info)) });
  }

  #spec({ user, info }: Attributes): JsonObject {
    const groups = this.options.version === 'v1' ? { groups: user.groups } : { group: user.groups };
    return { ...attributesOf(info), ...userOf(user), ...groups };
  }

  #read(status: JsonObject): ReadAnswer<Decision> {
    const answer = decisionOf(status);
    const { allowedMs, refusedMs } = this.options;
    return { answer, keptMs: answer.allowed ? allowedMs : refusedMs };
  }

  #failed({ message }: Error): Decision {
    return {
      allowed: false,
      ...(this.options.onFailure === 'Deny' ? { denied: true } : {}),
      reason: '',
      error: message,
    };
  }
}

const userOf = ({ name, uid, extra }: User): JsonObject => ({
  user: name,
  ...(uid ? { uid } : {}),
  ...(extra && Object.keys(extra).length ? { extra } : {}),
});

/** The spec of a review for conditions, with empty texts included, as in Kubernetes. */
function requestOf(user: User, info: Action): JsonObject {
  const { resourceAttributes, ...other } = attributesOf(info);
  const texts = { namespace: '', verb: '', group: '', version: '', resource: '', subresource: '', name: '' };
  return {
    user: user.name,
    uid: user.uid ?? '',
    groups: user.groups,
    extra: user.extra ?? {},
    ...other,
    ...(resourceAttributes
      ? { resourceAttributes: { ...texts, ...(resourceAttributes as JsonObject) } }
      : {}),
  };
}

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
  // Reviews cannot express these operators; without them the question is about more objects, not fewer.
  '>': undefined,
  '<': undefined,
};

function requirementOf({ key, operator, values }: LabelRequirement): JsonObject[] {
  const word = operators[operator];
  return word ? [{ key, operator: word, ...(values.length ? { values } : {}) }] : [];
}

function decisionOf({ allowed, denied, reason }: JsonObject): Decision {
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
