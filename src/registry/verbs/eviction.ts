/**
 * Eviction: deletes an object and records the reason in it, if its guard allows that. Which objects guard it, and how,
 * is defined by the kinds (`EvictionRules`, `GuardRules`); pods are guarded by disruption budgets.
 */

import { badRequest, modified, plain, StatusError } from '../../api/errors/errors.ts';
import type { Eviction } from '../../api/generated/types.ts';
import type { EvictionRules, GuardRules } from '../../api/kind/subresource.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { checkDeleteOptions, type DeleteOptions } from '../delete-options.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';
import { type Target, targetOf } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import { Filter } from '../view/filter.ts';
import type { Writing } from '../writing.ts';
import { checkDeletePreconditions, remove } from './delete.ts';
import { modify } from './modify.ts';

/** Maximum number of attempts, when object or guard change meanwhile. */
const roundsMax = 20;

/** The object has changed since the decision was made. */
class Changed extends Error {}

/** An object that guards others, with the rules of its kind. */
interface Guard {
  readonly entry: Entry;
  readonly rules: GuardRules;
}

export async function evict(
  writing: Writing,
  asking: Request,
  target: Target,
  eviction: Eviction,
): Promise<void> {
  const { kind, namespace, name } = target;
  const rules = kind.eviction!;
  if ((eviction.metadata.name ?? '') !== name)
    throw badRequest('name in URL does not match name in Eviction object');
  const asked = (eviction.deleteOptions ?? {}) as DeleteOptions;
  checkDeleteOptions(asked);
  const request = asked.dryRun?.length ? asking.asDryRun() : asking;
  const behind = writing.registry.view.caughtUp();
  if (behind) await writing.registry.inTime(behind, request.deadlineMs);
  await writing.admission.connect(writing.registry, request, target, eviction);
  for (let round = 1; ; round++) {
    const seen = writing.registry.find(target);
    const object = seen.peek();
    checkDeletePreconditions(kind, name, asked, object, seen);
    const state = rules.stateOf(object);
    const guard = state === 'guarded' ? guardOf(writing.registry, rules, namespace, object) : undefined;
    const exempt = guard ? guard.rules.isExempt(guard.entry.peek(), object) : false;
    try {
      if (guard && !exempt) await spend(writing, request, guard, name);
      // A decision based on the state of the object holds only while the object is unchanged.
      const fixed = exempt || state === 'waiting';
      return await end(writing, request, seen, rules, asked, fixed);
    } catch (error) {
      if (!mayHelp(error, guard?.entry)) throw error;
      if (round === roundsMax) throw guard ? guard.rules.unsettled(guard.entry.name) : modified(kind, name);
    }
  }
}

/** The guard of an object, or undefined. An eviction of an object with several guards is refused, as in Kubernetes. */
function guardOf(
  registry: Registry,
  { guards }: EvictionRules,
  namespace: string,
  object: ApiObject,
): Guard | undefined {
  const guarding = registry.view
    .collection(guards)
    .select(new Filter(namespace, undefined, undefined, undefined))
    .entries.filter((entry) => entry.kind.guard!.isGuarding(entry.peek(), object));
  const [entry] = guarding;
  if (!entry) return undefined;
  const rules = entry.kind.guard!;
  if (guarding.length > 1) throw plain(rules.severalRefusal);
  return { entry, rules };
}

/** Notes the eviction in the status of the guard. Throws when the guard refuses it. */
async function spend(
  writing: Writing,
  request: Request,
  { entry, rules }: Guard,
  name: string,
): Promise<void> {
  await modify(writing, request, targetOf(entry, 'status'), (current) => {
    const guard = current.object();
    rules.spend(guard, name, writing.registry.now());
    return guard;
  });
}

/** Whether to try again: the object has changed, or the guard was deleted. */
const mayHelp = (error: unknown, guard: Entry | undefined): boolean =>
  error instanceof Changed ||
  (error instanceof StatusError &&
    error.code === 404 &&
    guard !== undefined &&
    error.status.details?.kind === guard.kind.resource &&
    error.status.details.group === guard.kind.group);

/** Notes the eviction in an object, and deletes it; with `fixed` only if the object has not changed. */
async function end(
  writing: Writing,
  request: Request,
  seen: Entry,
  rules: EvictionRules,
  asked: DeleteOptions,
  fixed: boolean,
): Promise<void> {
  const { kind, name } = seen;
  const uid = seen.peek().metadata.uid!;
  const marked = await modify(writing, request, targetOf(seen, 'status'), (current) => {
    const object = current.object();
    if (object.metadata.uid !== uid || (fixed && current.revision !== seen.revision)) throw new Changed();
    checkDeletePreconditions(kind, name, asked, object, current);
    rules.note(object, writing.registry.now());
    return object;
  });
  // The client's resourceVersion was checked above; setting the condition has changed the version.
  const preconditions = { uid, ...(fixed ? { resourceVersion: String(marked.revision) } : {}) };
  try {
    await remove(writing, request, targetOf(seen), { ...asked, preconditions });
  } catch (error) {
    throw fixed && error instanceof StatusError && error.code === 409 ? new Changed() : error;
  }
}
