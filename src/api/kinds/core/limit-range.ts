/** LimitRange: bounds and defaults for the resources of objects in one namespace. */
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  index,
  invalid,
  key,
  required,
} from '../../errors/field-error.ts';
import type { LimitRange, LimitRangeItem } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';
import {
  isOvercommittable,
  type ResourceList,
  resourceNameErrors,
  roundResources,
} from '../../rules/shared/resource-name.ts';
import { setKey } from '../../text/object.ts';
import { isQualifiedName } from '../../values/names.ts';
import { compareQuantities, milliValue, parseQuantity, type Quantity } from '../../values/quantity.ts';

const standardTypes = new Set(['Pod', 'Container', 'PersistentVolumeClaim']);
const lists = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;
type ListName = (typeof lists)[number];
const one = parseQuantity('1');

function fillMissing(list: ResourceList, source: Readonly<ResourceList> | undefined): void {
  for (const [name, quantity] of Object.entries(source ?? {}))
    if (!Object.hasOwn(list, name)) setKey(list, name, quantity);
}

/** Default requests and limits of a container: the maximum, unless the range sets its own defaults. */
function fillContainerDefaults(item: LimitRangeItem): void {
  item.default ??= {};
  item.defaultRequest ??= {};
  fillMissing(item.default, item.max);
  fillMissing(item.defaultRequest, item.default);
  fillMissing(item.defaultRequest, item.min);
}

function typeErrors(type: string, path: string): FieldError[] {
  const problems = isQualifiedName(type);
  if (!problems.length && !type.includes('/') && !standardTypes.has(type))
    problems.push('must be a standard limit type or fully qualified');
  return problems.map((problem) => invalid(path, type, problem));
}

function* itemErrors(item: LimitRangeItem, path: string): Findings {
  const where = item.type === 'Pod' || item.type === 'Container' ? 'container' : 'any';
  const names = new Set<string>();
  for (const list of lists) {
    const listPath = child(path, list);
    if (item.type === 'Pod' && (list === 'default' || list === 'defaultRequest')) {
      if (Object.keys(item[list] ?? {}).length)
        yield forbidden(listPath, "may not be specified when `type` is 'Pod'");
      continue;
    }
    for (const name of Object.keys(item[list] ?? {})) {
      names.add(name);
      yield* resourceNameErrors(name, key(listPath, name), where);
    }
    if (list === 'defaultRequest' && item.type === 'PersistentVolumeClaim' && !boundsStorage(item))
      yield required(
        child(path, 'limits'),
        'either minimum or maximum storage value is required, but neither was provided',
      );
  }
  for (const name of names) yield* valueErrors(item, name, path);
}

const boundsStorage = ({ min, max }: LimitRangeItem): boolean =>
  min?.['storage'] !== undefined || max?.['storage'] !== undefined;

/** Checks the bounds and defaults of one resource against each other. */
function valueErrors(item: LimitRangeItem, name: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const read = (list: ListName): [text: string, value: Quantity | undefined] => {
    const text = item[list] && Object.hasOwn(item[list], name) ? item[list][name]! : '';
    return [text, text ? parseQuantity(text) : undefined];
  };
  const [maxText, max] = read('max');
  const [minText, min] = read('min');
  const [ratioText, ratio] = read('maxLimitRequestRatio');
  const pod = item.type === 'Pod';
  const [limitText, limit] = pod ? ['', undefined] : read('default');
  const [requestText, request] = pod ? ['', undefined] : read('defaultRequest');
  const above = (a: Quantity | undefined, b: Quantity | undefined): boolean =>
    a !== undefined && b !== undefined && compareQuantities(a, b) > 0;
  const refuse = (list: ListName, value: string, detail: string): void => {
    errors.push(invalid(key(child(path, list), name), value, detail));
  };

  if (above(min, max)) refuse('min', minText, `min value ${minText} is greater than max value ${maxText}`);
  if (above(min, request))
    refuse(
      'defaultRequest',
      requestText,
      `min value ${minText} is greater than default request value ${requestText}`,
    );
  if (above(request, max))
    refuse(
      'defaultRequest',
      requestText,
      `default request value ${requestText} is greater than max value ${maxText}`,
    );
  if (above(request, limit))
    refuse(
      'defaultRequest',
      requestText,
      `default request value ${requestText} is greater than default limit value ${limitText}`,
    );
  if (above(min, limit))
    refuse('default', minText, `min value ${minText} is greater than default value ${limitText}`);
  if (above(limit, max))
    refuse('default', maxText, `default value ${limitText} is greater than max value ${maxText}`);
  if (above(one, ratio)) refuse('maxLimitRequestRatio', ratioText, `ratio ${ratioText} is less than 1`);
  if (ratio && min && max) {
    const ratioMax = milliValue(max) / milliValue(min);
    if (milliValue(ratio) / 1000 > ratioMax)
      refuse(
        'maxLimitRequestRatio',
        ratioText,
        `ratio ${ratioText} is greater than max/min = ${ratioMax.toFixed(6)}`,
      );
  }
  if (limit && request && !isOvercommittable(name) && compareQuantities(limit, request) !== 0)
    refuse(
      'defaultRequest',
      requestText,
      `default value ${limitText} must equal to defaultRequest value ${requestText} in ${name}`,
    );
  return errors;
}

function* rangeErrors({ spec }: LimitRange): Findings {
  const types = new Set<string>();
  for (const [i, item] of (spec?.limits ?? []).entries()) {
    const path = index('spec.limits', i);
    const type = item.type ?? '';
    yield* typeErrors(type, child(path, 'type'));
    if (types.has(type)) yield duplicate(child(path, 'type'), type);
    types.add(type);
    yield* itemErrors(item, path);
  }
}

export const limitRange = defineKind<LimitRange>({
  kind: 'LimitRange',
  resource: 'limitranges',
  singular: 'limitrange',
  shortNames: ['limits'],
  namespaced: true,
  createOnUpdate: true,

  defaults({ spec }) {
    for (const item of spec?.limits ?? []) {
      for (const list of lists) roundResources(item[list]);
      if (item.type === 'Container') fillContainerDefaults(item);
    }
  },

  prepareForCreate({ metadata }) {
    // The name need not be a DNS name: no other object refers to it.
    metadata.name ||= metadata.uid;
  },

  validate: (range) => collect(rangeErrors(range)),
});
