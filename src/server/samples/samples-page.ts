/**
 * `GET /wherry/samples?of=pods&namespace=NAMESPACE&name=POD`, `?of=nodes[&name=NODE]`, `?of=requests`: what was used,
 * for as long as history. `from` and `until` are times such as 2026-01-31T12:00:00Z; a longer time than `points`
 * samples is averaged.
 */
import { badRequest, methodNotAllowed } from '../../api/errors/errors.ts';
import type { Action, Authorizer } from '../../api/kind/access.ts';
import { refusal } from '../http/access-refusal.ts';
import { answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import { averaged, type Line, summed } from './sample-lines.ts';
import type { Sampler } from './sampler.ts';

/** Points of a line in an answer. */
const pointsMax = 1_000;
const pointsUsually = 240;
/** Containers of a pod and figures of these; names that were used again make no more of them. */
const linesMax = 500;

/** Answers a request for the path. `rights` decides about users who are impersonated. */
export async function answerSamples(
  context: RequestContext,
  sampler: Sampler,
  rights: Authorizer,
): Promise<boolean> {
  if (context.info.method !== 'GET') throw methodNotAllowed();
  const asked = askedOf(context);
  const { user, door, impersonator } = context;
  const decision = await (impersonator ? rights : door.authorizer).decide({ user, info: asked.action });
  if (!decision.allowed) throw refusal(user, asked.action, decision.reason);
  const { everyMs, ageMaxMs } = sampler.sampled;
  const until = timeOf(context, 'until');
  if (until === undefined) await sampler.freshen();
  const nowMs = sampler.nowMs();
  const fromMs = Math.max(timeOf(context, 'from') ?? 0, nowMs - ageMaxMs);
  const untilMs = until ?? nowMs;
  const list = {
    kind: 'SampleList',
    apiVersion: 'wherry.dev/v1',
    metadata: {},
    everySeconds: everyMs / 1_000,
    keptSeconds: ageMaxMs / 1_000,
    ...averaged(
      sampler.blocks.times(fromMs, untilMs),
      linesOf(sampler, asked, fromMs, untilMs),
      pointsOf(context),
    ),
  };
  await answerValue(context, 200, list, { ...context.negotiate('none'), transform: undefined });
  return true;
}

interface Asked {
  /** The beginning of the names of the series. */
  readonly names: readonly string[];
  /** Whether lines of the same figure are added up. */
  readonly isSum: boolean;
  /** The request whose right is needed. */
  readonly action: Action;
}

function askedOf({ query }: RequestContext): Asked {
  const of = query.get('of');
  const name = query.get('name') || undefined;
  if (of === 'requests')
    return {
      names: ['requests'],
      isSum: false,
      action: { verb: 'get', path: '/metrics', resource: undefined },
    };
  if (of === 'nodes') {
    const names = name === undefined ? ['node'] : ['node', name];
    return { names, isSum: name === undefined, action: metricsAction('nodes', undefined, name) };
  }
  const namespace = query.get('namespace');
  if (of !== 'pods') throw badRequest('of: one of nodes, pods and requests');
  if (!namespace || !name) throw badRequest('samples of pods need a namespace and a name');
  return { names: ['pod', namespace, name], isSum: false, action: metricsAction('pods', namespace, name) };
}

/** As for the newest samples, which are in the metrics API. */
const metricsAction = (
  resource: string,
  namespace: string | undefined,
  name: string | undefined,
): Action => ({
  verb: name === undefined ? 'list' : 'get',
  path: '',
  resource: {
    group: 'metrics.k8s.io',
    version: 'v1beta1',
    resource,
    namespace,
    name,
    subresource: undefined,
  },
});

function linesOf({ blocks }: Sampler, { names, isSum }: Asked, fromMs: number, untilMs: number): Line[] {
  const fits = (name: readonly string[]): boolean => names.every((part, i) => part === name[i]);
  const found = blocks.names(fits);
  const lines = (isSum ? found : found.slice(0, linesMax)).map((name) => ({
    // The container of a pod, if there is one between the name of what was asked for and the figure.
    of: name.slice(names.length, -1).join(' '),
    figure: name.at(-1)!,
    values: () => blocks.values(name, fromMs, untilMs),
  }));
  if (isSum) return summed(lines);
  return lines.map(({ of, figure, values }) => ({
    ...(names[0] === 'pod' ? { container: of } : {}),
    figure,
    values: values(),
  }));
}

function timeOf({ query }: RequestContext, parameter: string): number | undefined {
  const text = query.get(parameter);
  if (!text) return undefined;
  const timeMs = text.length > 40 ? Number.NaN : Date.parse(text);
  if (Number.isNaN(timeMs))
    throw badRequest(`${parameter}: ${JSON.stringify(text.slice(0, 40))} is not a time`);
  return timeMs;
}

function pointsOf({ query }: RequestContext): number {
  const text = query.get('points');
  if (!text) return pointsUsually;
  if (!/^\d{1,6}$/.test(text))
    throw badRequest(`points: ${JSON.stringify(text.slice(0, 20))} is not a number`);
  return Math.min(pointsMax, Math.max(1, Number(text)));
}
