/** `authorizer.group('apps').resource('deployments').namespace('a').check('create').allowed()`. */
import { define, type Overload } from '../values/functions.ts';
import { CelError, Opaque } from '../values/values.ts';

/** A question to the authorizer: a resource or a path, and the user if it is not that of the request. */
export interface AuthorizerQuery {
  readonly verb: string;
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
}

export interface AuthorizerDecision {
  readonly allowed: boolean;
  readonly reason: string;
  readonly error: string;
}

/** Answers for the user of the request. May throw: a caller that has to wait for the answer asks again later. */
export type Decide = (query: AuthorizerQuery) => AuthorizerDecision;

/** Steps of one check: it may ask another server. */
const checkCost = 350_000;

type Part = Partial<AuthorizerQuery>;

/** The types of the chain differ only in what may follow. */
class Query extends Opaque {
  constructor(
    readonly type: string,
    readonly decide: Decide,
    readonly part: Part,
  ) {
    super();
  }
  equals(other: Opaque): boolean {
    return other === this;
  }
  /** The next link of the chain. */
  with(part: Part, type = this.type): Query {
    return new Query(type, this.decide, { ...this.part, ...part });
  }
}

class Decision extends Opaque {
  readonly type = 'kubernetes.authorization.Decision';
  constructor(readonly outcome: AuthorizerDecision) {
    super();
  }
  equals(other: Opaque): boolean {
    return other === this;
  }
}

const typeOf = (name: string): string => `kubernetes.authorization.${name}`;

/** The value of the variable `authorizer`. */
export function authorizerValue(decide: Decide): Opaque {
  return new Query(typeOf('Authorizer'), decide, {});
}

/** The value of `authorizer.requestResource`: the resource of the request, still to be asked for a verb. */
export function requestResourceValue(decide: Decide, resource: Omit<AuthorizerQuery, 'verb'>): Opaque {
  return new Query(typeOf('ResourceCheck'), decide, resource);
}

function check(query: Query, verb: string): Decision {
  return new Decision(query.decide({ ...query.part, verb }));
}

function serviceAccount(query: Query, namespace: string, name: string): Query {
  if (namespace === '' || name === '') throw new CelError('invalid service account');
  return query.with({ serviceAccount: { namespace, name } });
}

export const authorizerLibrary = (): readonly Overload[] => [
  define('Authorizer.path(string): PathCheck', (query: Query, path: string) =>
    query.with({ path }, typeOf('PathCheck')),
  ),
  define('Authorizer.group(string): GroupCheck', (query: Query, group: string) =>
    query.with({ group }, typeOf('GroupCheck')),
  ),
  define('Authorizer.serviceAccount(string, string): Authorizer', serviceAccount),
  define('GroupCheck.resource(string): ResourceCheck', (query: Query, resource: string) =>
    query.with({ resource }, typeOf('ResourceCheck')),
  ),
  define('ResourceCheck.subresource(string): ResourceCheck', (query: Query, subresource: string) =>
    query.with({ subresource }),
  ),
  define('ResourceCheck.namespace(string): ResourceCheck', (query: Query, namespace: string) =>
    query.with({ namespace }),
  ),
  define('ResourceCheck.name(string): ResourceCheck', (query: Query, name: string) => query.with({ name })),
  define('ResourceCheck.fieldSelector(string): ResourceCheck', (query: Query, fieldSelector: string) =>
    query.with({ fieldSelector }),
  ),
  define('ResourceCheck.labelSelector(string): ResourceCheck', (query: Query, labelSelector: string) =>
    query.with({ labelSelector }),
  ),
  define('PathCheck.check(string): Decision', check, { cost: checkCost }),
  define('ResourceCheck.check(string): Decision', check, { cost: checkCost }),
  define('Decision.allowed(): bool', ({ outcome }: Decision) => outcome.allowed),
  define('Decision.reason(): string', ({ outcome }: Decision) => outcome.reason),
  define('Decision.errored(): bool', ({ outcome }: Decision) => outcome.error !== ''),
  define('Decision.error(): string', ({ outcome }: Decision) => outcome.error),
];
