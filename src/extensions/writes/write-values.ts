/** A write as expressions see it: `object`, `oldObject`, `request`, `namespaceObject`, `authorizer`. */

import { anyJson } from '../../api/cel/json-values.ts';
import {
  type AuthorizerDecision,
  type AuthorizerQuery,
  authorizerValue,
  requestResourceValue,
} from '../../api/cel/libraries/authorizers.ts';
import { parseTimestamp } from '../../api/cel/libraries/times.ts';
import { BudgetExceeded } from '../../api/cel/values/budget.ts';
import { CelError, EntryMap, type Value } from '../../api/cel/values/values.ts';
import type { Authorizer, Decision, ResourceAction } from '../../api/kind/access.ts';
import { parseFieldSelector } from '../../api/kind/field-selector.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { parseLabelSelector } from '../../api/kind/label-selector.ts';
import { parseExact } from '../../api/text/exact-json.ts';
import type { ApiObject, JsonObject } from '../../api/text/object.ts';
import { authenticated, type User } from '../../api/values/user.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Request } from '../../registry/request.ts';
import { computed, turnToCompute } from '../../time-slices.ts';
import { requestText } from './admission-request.ts';
import type { AskedWrite } from './asked-write.ts';

export type Variables = Record<string, Value>;

/** Maximum cost of all expressions of policies and conditions together for one request, in steps. */
const writeCostMax = 50_000_000;
/** Maximum number of authorizer answers that one expression may wait for. */
const waitsMax = 100;

/**
 * Thrown while the authorizer has not answered: the expression runs again afterwards. It is not a CelError, so
 * expressions cannot catch it.
 */
class AnswerPending extends Error {
  override readonly name = 'AnswerPending';
  readonly answered: Promise<void>;
  constructor(answered: Promise<void>) {
    super('the authorizer has not answered yet');
    this.answered = answered;
  }
}

/** Steps that expressions have taken for each request. */
const spent = new WeakMap<Request, number>();
const stepsOf = ({ admission }: AskedWrite): number => spent.get(admission.request) ?? 0;

export class WriteValues {
  /** The variables, computed when an expression first uses them. */
  readonly variables: Variables;
  readonly #registry: Registry;
  readonly #authorizer: Authorizer;
  readonly #write: AskedWrite;
  readonly #decisions = new Map<string, AuthorizerDecision>();

  /** @param version the version of the kind in which the objects are seen */
  constructor(registry: Registry, authorizer: Authorizer, write: AskedWrite, version: Kind) {
    this.#registry = registry;
    this.#authorizer = authorizer;
    this.#write = write;
    const decide = (query: AuthorizerQuery): AuthorizerDecision => this.#decide(query);
    this.variables = lazily({
      object: () => anyJson(parseExact(write.objectText(version))),
      oldObject: () => anyJson(parseExact(write.oldText(version))),
      request: () => anyJson(parseExact(requestText(write, version))),
      namespaceObject: () => this.#namespaceObject(),
      authorizer: () => authorizerValue(decide),
      'authorizer.requestResource': () => requestResourceValue(decide, requestResource(write)),
    });
  }

  /**
   * Evaluates an expression when it is its turn, and again whenever an answer of the authorizer has arrived. The
   * expression reports its cost with `spend`.
   */
  async evaluated<T>(run: () => T): Promise<T> {
    for (let waits = 0; ; waits++) {
      const turn = turnToCompute();
      if (turn) await turn;
      if (stepsOf(this.#write) > writeCostMax) throw new BudgetExceeded();
      try {
        return run();
      } catch (error) {
        if (!(error instanceof AnswerPending) || waits >= waitsMax) throw error;
        await error.answered;
      }
    }
  }

  spend(steps: number): void {
    computed(steps);
    const { request } = this.#write.admission;
    spent.set(request, stepsOf(this.#write) + steps);
  }

  #namespaceObject(): Value {
    const { namespace, admission } = this.#write;
    const { kind } = admission.target;
    // As in Kubernetes, null for a namespace itself, although it counts as being inside itself elsewhere.
    if (!namespace || !kind.namespaced) return null;
    const found = this.#registry.view.collection('core/namespaces').get('', namespace)?.peek();
    return found ? namespaceValue(found) : null;
  }

  #decide(query: AuthorizerQuery): AuthorizerDecision {
    const key = JSON.stringify(query);
    const known = this.#decisions.get(key);
    if (known) return known;
    const keep = ({ allowed, reason, error = '' }: Decision): AuthorizerDecision => {
      const decision = { allowed, reason, error };
      this.#decisions.set(key, decision);
      return decision;
    };
    const answer = this.#authorizer.decide({
      user: query.serviceAccount ? accountUser(query.serviceAccount) : this.#write.admission.request.user,
      info: {
        verb: query.verb,
        path: query.path ?? '',
        resource: query.path === undefined ? actionOf(query) : undefined,
      },
    });
    if (!(answer instanceof Promise)) return keep(answer);
    const failed = (error: unknown): Decision => ({
      allowed: false,
      reason: '',
      error: error instanceof Error ? error.message : String(error),
    });
    throw new AnswerPending(answer.catch(failed).then((decision) => void keep(decision)));
  }
}

/** An object whose values are computed when they are first read. */
function lazily(makers: Record<string, () => Value>): Variables {
  const values: Variables = {};
  for (const [name, make] of Object.entries(makers))
    Object.defineProperty(values, name, {
      configurable: true,
      enumerable: true,
      get: () => {
        const value = make();
        Object.defineProperty(values, name, { value, enumerable: true });
        return value;
      },
    });
  return values;
}

/** The namespace with Kubernetes' types: times are timestamps, and the uid is the field `UID`. */
function namespaceValue({ metadata, spec, status }: ApiObject): Value {
  const { uid, creationTimestamp, deletionTimestamp, ...meta } = metadata;
  const entries: [Value, Value][] = Object.entries(meta).flatMap(([name, json]) =>
    json === undefined ? [] : [[name, anyJson(json)]],
  );
  if (uid !== undefined) entries.push(['UID', uid]);
  for (const [name, text] of Object.entries({ creationTimestamp, deletionTimestamp })) {
    const time = typeof text === 'string' ? parseTimestamp(text) : undefined;
    if (time) entries.push([name, time]);
  }
  return EntryMap.of([
    ['metadata', EntryMap.of(entries)],
    ['spec', anyJson((spec as JsonObject | undefined) ?? {})],
    ['status', anyJson((status as JsonObject | undefined) ?? {})],
  ]);
}

function requestResource({ question, namespace, name }: AskedWrite): Omit<AuthorizerQuery, 'verb'> {
  const { kind, subresource } = question;
  return {
    group: kind.group,
    resource: kind.resource,
    ...(subresource ? { subresource } : {}),
    ...(namespace ? { namespace } : {}),
    ...(name ? { name } : {}),
  };
}

function actionOf(query: AuthorizerQuery): ResourceAction {
  const { group = '', resource = '', subresource, namespace, name, fieldSelector, labelSelector } = query;
  return {
    group,
    version: '*',
    resource,
    subresource: subresource || undefined,
    namespace: namespace || undefined,
    name: name || undefined,
    ...(fieldSelector === undefined
      ? {}
      : { fieldSelector: selected(() => parseFieldSelector(fieldSelector)) }),
    ...(labelSelector === undefined
      ? {}
      : { labelSelector: selected(() => parseLabelSelector(labelSelector)) }),
  };
}

function selected<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new CelError(error instanceof Error ? error.message : String(error));
  }
}

const accountUser = ({ namespace, name }: { namespace: string; name: string }): User => ({
  name: `system:serviceaccount:${namespace}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, authenticated],
});
