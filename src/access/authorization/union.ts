/**
 * The union of authorizers: members of `system:masters` may do everything; for all other users the first authorizer that
 * allows or denies decides. A request that none allows is refused, with the reasons of all.
 */
import {
  type Attributes,
  type Authorizer,
  allowed,
  type Decision,
  isMaster,
  type UserRules,
} from '../../api/kind/access.ts';
import type { User } from '../../api/values/user.ts';

export class UnionAuthorizer implements Authorizer {
  constructor(private authorizers: readonly Authorizer[]) {}

  /** Replaces the authorizers; decisions under way continue with the former ones. */
  use(authorizers: readonly Authorizer[]): void {
    this.authorizers = authorizers;
  }

  /** Decides; synchronously, as long as no authorizer returns a promise. */
  decide(attributes: Attributes): Decision | Promise<Decision> {
    if (isMaster(attributes.user)) return allowed;
    return ask(this.authorizers, attributes, 0, []);
  }

  async rulesFor(user: User, namespace: string): Promise<UserRules> {
    const all = await Promise.all(
      this.authorizers.map(
        (authorizer) => authorizer.rulesFor?.(user, namespace) ?? { ...unlisted, errors: [] },
      ),
    );
    return {
      resourceRules: all.flatMap(({ resourceRules }) => resourceRules),
      pathRules: all.flatMap(({ pathRules }) => pathRules),
      incomplete: all.some(({ incomplete }) => incomplete),
      errors: all.flatMap(({ errors }) => errors),
    };
  }
}

function ask(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  from: number,
  refused: Decision[],
): Decision | Promise<Decision> {
  for (let at = from; at < authorizers.length; at++) {
    const decision = authorizers[at]!.decide(attributes);
    if (decision instanceof Promise) return askAfter(decision, authorizers, attributes, at + 1, refused);
    if (decision.allowed || decision.denied) return decision;
    refused.push(decision);
  }
  return refused.length === 1 ? refused[0]! : joined(refused);
}

async function askAfter(
  waiting: Promise<Decision>,
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  from: number,
  refused: Decision[],
): Promise<Decision> {
  const decision = await waiting;
  if (decision.allowed || decision.denied) return decision;
  refused.push(decision);
  return ask(authorizers, attributes, from, refused);
}

const unlisted = { resourceRules: [], pathRules: [], incomplete: true };

function joined(refused: readonly Decision[]): Decision {
  const reasons = refused.map(({ reason }) => reason).filter(Boolean);
  const errors = refused.flatMap(({ error }) => error ?? []);
  return {
    allowed: false,
    reason: reasons.join('\n'),
    ...(errors.length ? { error: errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]` } : {}),
  };
}
