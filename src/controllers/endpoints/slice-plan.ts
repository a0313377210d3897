/**
 * The plan of a service's slices: which to create, change and delete so that they hold the wanted endpoints. Pure.
 *
 * Each slice costs a write that goes to all watchers, so the plan changes as few slices as possible and never moves an
 * endpoint from one slice to another: slices that are written anyway are filled first, and a new one is made only when
 * nothing else has room.
 */
import type { Endpoint, EndpointPortV1, EndpointSlice } from '../../api/generated/types.ts';
import { type EndpointGroup, portsKey } from '../../api/rules/service/slice-endpoints.ts';
import { semanticEqual } from '../../api/text/object.ts';

/** What a slice is to hold. */
export interface SliceContent {
  readonly endpoints: readonly Endpoint[];
  readonly ports: readonly EndpointPortV1[];
}

export interface SlicePlan<T extends EndpointSlice> {
  readonly create: readonly SliceContent[];
  readonly update: readonly { readonly slice: T; readonly content: SliceContent }[];
  readonly remove: readonly T[];
}

/** A slice whose content changes. */
interface Draft<T> {
  readonly slice: T;
  readonly endpoints: Endpoint[];
}

/** Two endpoints with the same key are the same one, which may have changed in other respects. */
const endpointKey = ({ addresses = [], hostname, targetRef }: Endpoint): string =>
  JSON.stringify([[...addresses].sort(), hostname ?? '', targetRef?.namespace ?? '', targetRef?.name ?? '']);

/**
 * @param existing the slices of one service, controller and address type
 * @param isCurrent whether a slice's metadata is right; slices with other metadata are written, too
 */
export function planSlices<T extends EndpointSlice>(
  existing: readonly T[],
  groups: readonly EndpointGroup[],
  endpointsMax: number,
  isCurrent: (slice: T) => boolean,
): SlicePlan<T> {
  const byPorts = new Map<string, T[]>();
  for (const slice of existing) {
    const key = portsKey(slice.ports ?? []);
    byPorts.set(key, [...(byPorts.get(key) ?? []), slice]);
  }
  const plan = { create: [] as SliceContent[], update: [] as SliceUpdate<T>[], remove: [] as T[] };
  for (const group of groups) {
    const key = portsKey(group.ports);
    fill(plan, byPorts.get(key) ?? [], group, endpointsMax, isCurrent);
    byPorts.delete(key);
  }
  plan.remove.push(...[...byPorts.values()].flat());
  return recycled(plan);
}

/** The plan of a service without endpoints: one empty slice, which shows that its controller has seen the service. */
export function planPlaceholder<T extends EndpointSlice>(
  existing: readonly T[],
  isCurrent: (slice: T) => boolean,
): SlicePlan<T> {
  const isEmpty = ({ endpoints, ports }: EndpointSlice): boolean => !endpoints?.length && !ports?.length;
  const kept = existing.find((slice) => isEmpty(slice) && isCurrent(slice));
  const remove = existing.filter((slice) => slice !== kept);
  return recycled({ create: kept ? [] : [{ endpoints: [], ports: [] }], update: [], remove });
}

type SliceUpdate<T extends EndpointSlice> = SlicePlan<T>['update'][number];

interface MutablePlan<T extends EndpointSlice> {
  readonly create: SliceContent[];
  readonly update: SliceUpdate<T>[];
  readonly remove: T[];
}

function fill<T extends EndpointSlice>(
  plan: MutablePlan<T>,
  existing: readonly T[],
  { ports, endpoints }: EndpointGroup,
  endpointsMax: number,
  isCurrent: (slice: T) => boolean,
): void {
  const wanted = new Map(endpoints.map((endpoint) => [endpointKey(endpoint), endpoint]));
  const changed: Draft<T>[] = [];
  const untouched: Draft<T>[] = [];
  for (const slice of existing) {
    const before = slice.endpoints ?? [];
    const kept: Endpoint[] = [];
    for (const endpoint of before) {
      const key = endpointKey(endpoint);
      const now = wanted.get(key);
      if (now) kept.push(now);
      wanted.delete(key);
    }
    if (kept.length === 0) plan.remove.push(slice);
    else if (semanticEqual(kept, before) && isCurrent(slice)) untouched.push({ slice, endpoints: kept });
    else changed.push({ slice, endpoints: kept });
  }
  const left = [...wanted.values()];
  changed.sort((a, b) => b.endpoints.length - a.endpoints.length);
  for (const draft of changed) draft.endpoints.push(...left.splice(0, endpointsMax - draft.endpoints.length));
  const roomy =
    left.length > 0 && left.length < endpointsMax ? bestFit(untouched, left.length, endpointsMax) : undefined;
  if (roomy) changed.push({ slice: roomy.slice, endpoints: [...roomy.endpoints, ...left.splice(0)] });
  while (left.length) plan.create.push({ ports, endpoints: left.splice(0, endpointsMax) });
  plan.update.push(...changed.map(({ slice, endpoints }) => ({ slice, content: { ports, endpoints } })));
}

/** The slice that has the least room left after taking some more endpoints. */
function bestFit<T>(drafts: readonly Draft<T>[], count: number, endpointsMax: number): Draft<T> | undefined {
  const fitting = drafts.filter(({ endpoints }) => endpoints.length + count <= endpointsMax);
  return fitting.sort((a, b) => b.endpoints.length - a.endpoints.length)[0];
}

/** A slice to delete and one to create become one write, of the slice that exists. */
function recycled<T extends EndpointSlice>({ create, update, remove }: MutablePlan<T>): SlicePlan<T> {
  const count = Math.min(create.length, remove.length);
  const reused = create.slice(0, count).map((content, i) => ({ slice: remove[i]!, content }));
  return { create: create.slice(count), update: [...update, ...reused], remove: remove.slice(count) };
}
