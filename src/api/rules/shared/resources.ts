/** Resources: rules and defaults for requests and limits of containers and of whole pods. */
import { child, type FieldError, forbidden, invalid, key, required } from '../../errors/field-error.ts';
import type { Container, PodSpec, ResourceRequirements } from '../../generated/types.ts';
import { setKey } from '../../text/object.ts';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  QuantityError,
  sign,
} from '../../values/quantity.ts';
import type { Findings } from './findings.ts';
import {
  isHugePages,
  isOvercommittable,
  type ResourceList,
  resourceNameErrors,
  resourceValueErrors,
  roundResources,
} from './resource-name.ts';

/** Resources for which a whole pod may set requests and limits. */
const podLevelNames = ['cpu', 'memory'] as const;
/** Huge pages need a request or limit of one of these as well. */
const computeNames: readonly string[] = ['cpu', 'memory'];

export function roundRequirements(resources: ResourceRequirements | undefined): void {
  roundResources(resources?.limits);
  roundResources(resources?.requests);
}

/** A limit without a request defaults the request to the limit. In pods only, not in templates. */
export function requestLimits(container: Container): void {
  const limits = Object.entries(container.resources?.limits ?? {});
  if (limits.length === 0) return;
  const requests = (container.resources!.requests ??= {});
  for (const [name, quantity] of limits) if (!Object.hasOwn(requests, name)) setKey(requests, name, quantity);
}

/** Defaults of pod-level requests: the sum of the containers' requests, or else the pod-level limit. */
export function requestPodLevel(spec: PodSpec): void {
  const limits = spec.resources?.limits;
  if (!limits || Object.keys(limits).length === 0) return;
  const requests = (spec.resources!.requests ??= {});
  for (const name of podLevelNames) {
    if (requests[name] !== undefined) continue;
    const sum = requestedBy(spec, name);
    const quantity = sum ? formatQuantity(sum) : limits[name];
    if (quantity !== undefined) requests[name] = quantity;
  }
}

export function* requirementErrors(
  { limits = {}, requests = {} }: ResourceRequirements,
  path: string,
): Findings {
  yield* listErrors(limits, child(path, 'limits'));
  yield* listErrors(requests, child(path, 'requests'));
  for (const [name, request] of Object.entries(requests))
    yield* requestErrors(name, request, Object.hasOwn(limits, name) ? limits[name] : undefined, path);
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.some((name) => computeNames.includes(name)))
    yield forbidden(path, 'HugePages require cpu or memory');
}

function* listErrors(list: Readonly<ResourceList>, path: string): Findings {
  for (const [name, quantity] of Object.entries(list)) {
    const entry = key(path, name);
    yield* resourceNameErrors(name, entry, 'container');
    yield* resourceValueErrors(name, quantity, entry);
    if (isHugePages(name) && !isWholePages(name, quantity))
      yield invalid(entry, quantity, `${quantity} is not positive integer multiple of ${name}`);
  }
}

function* requestErrors(name: string, request: string, limit: string | undefined, path: string): Findings {
  if (limit === undefined) {
    if (!isOvercommittable(name))
      yield required(child(path, 'limits'), 'Limit must be set for non overcommitable resources');
    return;
  }
  const order = compareQuantities(parseQuantity(request), parseQuantity(limit));
  const problem = (words: string): FieldError =>
    invalid(child(path, 'requests'), request, `must be ${words} ${name} limit of ${limit}`);
  if (order !== 0 && !isOvercommittable(name)) yield problem('equal to');
  else if (order > 0) yield problem('less than or equal to');
}

/** An amount of `hugepages-2Mi` must be a multiple of 2Mi. */
function isWholePages(name: string, quantity: string): boolean {
  try {
    const page = parseQuantity(name.slice('hugepages-'.length));
    return sign(page) > 0 && parseQuantity(quantity).nano % page.nano === 0n;
  } catch (error) {
    if (error instanceof QuantityError) return false;
    throw error;
  }
}

export function* podLevelErrors(spec: PodSpec, path: string): Findings {
  if (!spec.resources) return;
  yield* requirementErrors(spec.resources, path);
  for (const name of podLevelNames) {
    const request = spec.resources.requests?.[name];
    const sum = request === undefined ? undefined : requestedBy(spec, name);
    if (sum && compareQuantities(sum, parseQuantity(request!)) > 0)
      yield invalid(
        key(child(path, 'requests'), name),
        request,
        `must be greater than or equal to aggregate container requests of ${formatQuantity(sum)}`,
      );
  }
}

/**
 * The containers' total request of one resource: containers and sidecars add up; init containers run before, one at a
 * time, each beside the earlier sidecars. Undefined when no container requests it.
 */
function requestedBy(spec: PodSpec, name: string): Quantity | undefined {
  let total: Quantity | undefined;
  let sidecars: Quantity | undefined;
  let peak: Quantity | undefined;
  for (const container of spec.containers ?? []) total = plus(total, requested(container, name));
  for (const container of spec.initContainers ?? []) {
    const own = requested(container, name);
    if (container.restartPolicy === 'Always') {
      total = plus(total, own);
      sidecars = plus(sidecars, own);
    } else peak = larger(peak, plus(sidecars, own));
  }
  return larger(total, peak);
}

function requested(container: Container, name: string): Quantity | undefined {
  const quantity = container.resources?.requests?.[name];
  return quantity === undefined ? undefined : parseQuantity(quantity);
}

const plus = (a: Quantity | undefined, b: Quantity | undefined): Quantity | undefined =>
  a && b ? addQuantities(a, b) : (a ?? b);

const larger = (a: Quantity | undefined, b: Quantity | undefined): Quantity | undefined =>
  a && b ? (compareQuantities(a, b) >= 0 ? a : b) : (a ?? b);
