/**
 * Resource names: what a resource list may hold (`cpu`, `hugepages-2Mi`, `example.com/gpu`) and in what amounts.
 *
 * Names without a prefix belong to Kubernetes; names with a foreign prefix are extended resources, which come
 * in whole pieces only.
 */
import { type FieldError, invalid, key } from '../../errors/field-error.ts';
import { setKey } from '../../text/object.ts';
import { isQualifiedName } from '../../values/names.ts';
import { isInteger, parseQuantity, roundUpToMilli, sign } from '../../values/quantity.ts';
import type { Findings } from './findings.ts';

/** The kind of a resource list decides which names without a prefix are valid. */
export type ResourcePlace = 'any' | 'container' | 'quota';

export type ResourceList = Record<string, string>;

const hugePagesPrefix = 'hugepages-';
const quotaRequestsPrefix = 'requests.';

const containerNames = new Set(['cpu', 'memory', 'ephemeral-storage']);
const countedNames = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]);
const quotaNames = new Set([
  ...containerNames,
  ...countedNames,
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
]);

export const isHugePages = (name: string): boolean => name.startsWith(hugePagesPrefix);

export const isStandardQuota = (name: string): boolean =>
  quotaNames.has(name) || isHugePages(name) || name.startsWith(quotaRequestsPrefix + hugePagesPrefix);

const isStandard = (name: string): boolean => name === 'storage' || isStandardQuota(name);

const isStandardForContainers = (name: string): boolean => containerNames.has(name) || isHugePages(name);

const isNativeResource = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');

/** In a quota, `requests.` in front of a resource name must still make a valid name. */
export const isExtendedResource = (name: string): boolean =>
  !isNativeResource(name) &&
  !name.startsWith(quotaRequestsPrefix) &&
  isQualifiedName(quotaRequestsPrefix + name).length === 0;

export const isIntegerResource = (name: string): boolean =>
  countedNames.has(name) || isExtendedResource(name);

/** Whether a request may be lower than the limit (overcommit). */
export const isOvercommittable = (name: string): boolean => isNativeResource(name) && !isHugePages(name);

export function resourceNameErrors(name: string, path: string, where: ResourcePlace): FieldError[] {
  const errors = isQualifiedName(name).map((problem) => invalid(path, name, problem));
  const prefixed = name.includes('/');
  if (errors.length === 0 && !prefixed && !isStandard(name))
    errors.push(invalid(path, name, 'must be a standard resource type or fully qualified'));
  if (where === 'container' && !prefixed && !isStandardForContainers(name))
    errors.push(invalid(path, name, 'must be a standard resource for containers'));
  if (where === 'container' && prefixed && !isNativeResource(name) && !isExtendedResource(name))
    errors.push(invalid(path, name, "doesn't follow extended resource name standard"));
  if (where === 'quota' && !prefixed && !isStandardQuota(name))
    errors.push(invalid(path, name, 'must be a standard resource for quota'));
  return errors;
}

export function resourceValueErrors(name: string, quantity: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const whole = isIntegerResource(name);
  // A list may be as long as a body; the fast check accepts most amounts without parsing them.
  if (!whole && !quantity.startsWith('-')) return errors;
  const value = parseQuantity(quantity);
  if (sign(value) < 0) errors.push(invalid(path, quantity, 'must be greater than or equal to 0'));
  if (whole && !isInteger(value)) errors.push(invalid(path, quantity, 'must be an integer'));
  return errors;
}

/** Names and values of a whole list; each entry has the path `list[name]`. */
export function* resourceListErrors(
  list: Readonly<ResourceList> | undefined,
  path: string,
  where: ResourcePlace,
): Findings {
  for (const [name, quantity] of Object.entries(list ?? {})) {
    const entry = key(path, name);
    yield* resourceNameErrors(name, entry, where);
    yield* resourceValueErrors(name, quantity, entry);
  }
}

/** Amounts that are obviously whole milli units. */
const wholeMilli = /^[-+]?\d+(?:m|[kMGTPE]|[KMGTPE]i)?$/;

/** The default every resource list gets: amounts are rounded up to whole milli units. */
export function roundResources(list: ResourceList | undefined): void {
  if (!list) return;
  for (const name of Object.keys(list)) {
    const quantity = list[name]!;
    if (!wholeMilli.test(quantity)) setKey(list, name, roundUpToMilli(quantity));
  }
}
