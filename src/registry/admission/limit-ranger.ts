/**
 * LimitRanger: the LimitRanges of a namespace set default requests and limits, and reject objects that are out of
 * bounds.
 */
import { forbidden } from '../../api/errors/errors.ts';
import type {
  Container,
  LimitRange,
  LimitRangeItem,
  PersistentVolumeClaim,
  Pod,
  ResourceRequirements,
} from '../../api/generated/types.ts';
import { podLimits, podRequests } from '../../api/rules/pod/pod-resources.ts';
import { limitRangerAnnotation } from '../../api/rules/pod/pod-server-values.ts';
import {
  compareQuantities,
  formatQuantity,
  parseQuantity,
  sign,
  toNumber,
} from '../../api/values/quantity.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';
import type { Registry } from '../registry.ts';
import { Filter } from '../view/filter.ts';

type ResourceList = Record<string, string>;

export const limitRanger: AdmissionPlugin = {
  name: 'LimitRanger',
  kinds: ['core/pods', 'core/persistentvolumeclaims'],

  mutate(registry, { operation, target: { kind, namespace }, object }) {
    if (operation !== 'create' || kind.id !== 'core/pods') return;
    const pod = object as Pod;
    const set = itemsOf(registry, namespace, 'Container').flatMap((item) => fillPod(pod, item));
    if (set.length)
      pod.metadata.annotations = {
        ...pod.metadata.annotations,
        [limitRangerAnnotation]: `LimitRanger plugin set: ${set.join('; ')}`,
      };
  },

  validate(registry, { operation, target: { kind, namespace, name, part }, object }) {
    if (!object || object.metadata.deletionTimestamp) return;
    let problems: string[] = [];
    if (kind.id === 'core/pods' && (operation === 'create' || part === 'resize'))
      problems = podProblems(registry, namespace, object as Pod);
    else if (kind.id === 'core/persistentvolumeclaims')
      problems = claimProblems(registry, namespace, object as PersistentVolumeClaim);
    if (problems.length)
      throw forbidden(kind, name, problems.length === 1 ? problems[0]! : `[${problems.join(', ')}]`);
  },
};

function itemsOf(registry: Registry, namespace: string, type: string): LimitRangeItem[] {
  const ranges = registry.view.collection('core/limitranges');
  if (ranges.size === 0) return [];
  return ranges
    .select(new Filter(namespace, undefined, undefined, undefined))
    .entries.flatMap((entry) => (entry.peek() as LimitRange).spec?.limits ?? [])
    .filter((item) => item.type === type);
}

// Defaults

function fillPod(pod: Pod, item: LimitRangeItem): string[] {
  const spec = pod.spec ?? {};
  return [
    ...(spec.containers ?? []).flatMap((container) => fillContainer(container, item, 'container')),
    ...(spec.initContainers ?? []).flatMap((container) => fillContainer(container, item, 'init container')),
  ];
}

/** Sets the defaults and lists in an annotation what it has set: requests first, then limits. */
function fillContainer(container: Container, item: LimitRangeItem, what: string): string[] {
  const resources: ResourceRequirements = (container.resources ??= {});
  const requests = fill((resources.requests ??= {}), item.defaultRequest);
  const limits = fill((resources.limits ??= {}), item.default);
  const said: string[] = [];
  if (requests.length) said.push(`${requests.join(', ')} request for ${what} ${container.name}`);
  if (limits.length) said.push(`${limits.join(', ')} limit for ${what} ${container.name}`);
  return said;
}

function fill(list: ResourceList, defaults: ResourceList | undefined): string[] {
  const names = Object.keys(defaults ?? {})
    .filter((name) => !Object.hasOwn(list, name))
    .sort();
  for (const name of names) list[name] = defaults![name]!;
  return names;
}

// Bounds

function podProblems(registry: Registry, namespace: string, pod: Pod): string[] {
  const spec = pod.spec ?? {};
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const ofContainers = itemsOf(registry, namespace, 'Container').flatMap((item) =>
    containers.flatMap(({ resources }) =>
      boundProblems(item, resources?.requests ?? {}, resources?.limits ?? {}),
    ),
  );
  const ofPod = itemsOf(registry, namespace, 'Pod').flatMap((item) =>
    boundProblems(item, podRequests(spec), podLimits(spec)),
  );
  return [...ofContainers, ...ofPod];
}

function claimProblems(registry: Registry, namespace: string, claim: PersistentVolumeClaim): string[] {
  const requests = claim.spec?.resources?.requests ?? {};
  return itemsOf(registry, namespace, 'PersistentVolumeClaim').flatMap((item) => [
    ...namesOf(item.min).flatMap((name) => minimumProblem(item, name, requests[name], undefined)),
    ...namesOf(item.max).flatMap((name) => {
      const request = requests[name];
      const bound = item.max![name]!;
      if (request === undefined)
        return [`maximum ${name} usage per ${item.type} is ${bound}.  No request is specified`];
      return over(request, bound)
        ? [`maximum ${name} usage per ${item.type} is ${bound}, but request is ${request}`]
        : [];
    }),
  ]);
}

const namesOf = (list: ResourceList | undefined): string[] => Object.keys(list ?? {}).sort();

function boundProblems(item: LimitRangeItem, requests: ResourceList, limits: ResourceList): string[] {
  return [
    ...namesOf(item.min).flatMap((name) => minimumProblem(item, name, requests[name], limits[name])),
    ...namesOf(item.max).flatMap((name) => maximumProblem(item, name, requests[name], limits[name])),
    ...namesOf(item.maxLimitRequestRatio).flatMap((name) =>
      ratioProblem(item, name, requests[name], limits[name]),
    ),
  ];
}

const over = (value: string, bound: string): boolean =>
  compareQuantities(parseQuantity(value), parseQuantity(bound)) > 0;
const shown = (value: string): string => formatQuantity(parseQuantity(value));

function minimumProblem(
  item: LimitRangeItem,
  name: string,
  request: string | undefined,
  limit: string | undefined,
): string[] {
  const bound = item.min![name]!;
  const text = `minimum ${name} usage per ${item.type} is ${shown(bound)}`;
  if (request === undefined) return [`${text}.  No request is specified`];
  if (over(bound, request)) return [`${text}, but request is ${shown(request)}`];
  if (limit !== undefined && over(bound, limit)) return [`${text}, but limit is ${shown(limit)}`];
  return [];
}

function maximumProblem(
  item: LimitRangeItem,
  name: string,
  request: string | undefined,
  limit: string | undefined,
): string[] {
  const bound = item.max![name]!;
  const text = `maximum ${name} usage per ${item.type} is ${shown(bound)}`;
  if (limit === undefined) return [`${text}.  No limit is specified`];
  if (over(limit, bound)) return [`${text}, but limit is ${shown(limit)}`];
  if (request !== undefined && over(request, bound)) return [`${text}, but request is ${shown(request)}`];
  return [];
}

function ratioProblem(
  item: LimitRangeItem,
  name: string,
  request: string | undefined,
  limit: string | undefined,
): string[] {
  const bound = item.maxLimitRequestRatio![name]!;
  const text = `${name} max limit to request ratio per ${item.type} is ${shown(bound)}`;
  if (request === undefined || sign(parseQuantity(request)) === 0)
    return [`${text}, but no request is specified or request is 0`];
  if (limit === undefined || sign(parseQuantity(limit)) === 0)
    return [`${text}, but no limit is specified or limit is 0`];
  const ratio = toNumber(parseQuantity(limit)) / toNumber(parseQuantity(request));
  return ratio > toNumber(parseQuantity(bound)) ? [`${text}, but provided ratio is ${ratio.toFixed(6)}`] : [];
}
