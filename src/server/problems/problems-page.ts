/** `GET /wherry/problems`: what is not well, grouped by cause, as far as the user may read it. */
import { methodNotAllowed } from '../../api/errors/errors.ts';
import type { Authorizer } from '../../api/kind/access.ts';
import { answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import type { Connecting } from '../pods/connecting.ts';
import { short } from './finding.ts';
import { LastLines } from './last-lines.ts';
import { type Problem, problemsOf } from './problem.ts';
import { ProblemSearch } from './problem-search.ts';
import { type ReadableScope, readableScope } from './readable-scope.ts';

/** Problems in one answer, the newest first; `remainingItemCount` says how many more there are. */
const problemsMax = 500;

/** Answers a request for the path. `rights` decides about users who are impersonated. */
export async function answerProblems(
  context: RequestContext,
  connecting: Connecting,
  rights: Authorizer,
): Promise<boolean> {
  if (context.info.method !== 'GET') throw methodNotAllowed();
  const { registry } = connecting;
  await registry.view.caughtUp();
  const namespace = context.query.get('namespace') || undefined;
  const { scope, authorizer } = readableScope(context, registry, rights, namespace);
  const resourceVersion = String(registry.view.revision);
  const search = new ProblemSearch(registry, scope, registry.sources.nowMs());
  const problems = problemsOf(await search.all());
  const ownProblems = await storeProblems(registry, scope);
  const left = problems.length - problemsMax;
  const list = {
    kind: 'ProblemList',
    apiVersion: 'wherry.dev/v1',
    metadata: { resourceVersion, ...(left > 0 ? { remainingItemCount: left } : {}) },
    ...(scope.isCut || search.isCut ? { incomplete: true } : {}),
    items: [
      ...ownProblems,
      ...(await new LastLines(connecting, authorizer, context.user).addTo(problems.slice(0, problemsMax))),
    ],
  };
  await answerValue(context, 200, list, { ...context.negotiate('none'), transform: undefined });
  return true;
}

/**
 * What keeps the server itself from working, before all else: a store that takes no writes, such as one whose disk is
 * full. For those who may see all nodes, because it names folders of the machine.
 */
async function storeProblems(
  { kinds, writeFailure }: Connecting['registry'],
  scope: ReadableScope,
): Promise<Problem[]> {
  if (!writeFailure || (await scope.of(kinds.resource('v1', 'nodes')!)) !== undefined) return [];
  const message = `nothing can be written: ${short(writeFailure.message)}`;
  return [{ severity: 'error', message, count: 1, objects: [] }];
}
