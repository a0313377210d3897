/** Parses the selectors of an access review. Parts that cannot be understood are left out, and the answer says so. */
import { child, type FieldError, forbidden, index, invalid, required } from '../../api/errors/field-error.ts';
import type { ResourceAttributes } from '../../api/generated/types.ts';
import { FieldSelector, type FieldTerm, parseFieldSelector } from '../../api/kind/field-selector.ts';
import { type LabelSelector, parseLabelSelector, selectorFromObject } from '../../api/kind/label-selector.ts';

type Attributes = NonNullable<ResourceAttributes['fieldSelector']>;
type Requirement = NonNullable<Attributes['requirements']>[number];

const place = 'spec.resourceAttributes';
const operators: readonly (string | undefined)[] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

export class ReviewedSelectors {
  readonly field: FieldSelector | undefined;
  readonly label: LabelSelector | undefined;
  /** Messages about the parts that were left out. */
  readonly ignored: string[] = [];

  constructor(given: ResourceAttributes | undefined) {
    this.field = this.#read('fieldSelector', given?.fieldSelector, parseFieldSelector, fieldTerms);
    this.label = this.#read('labelSelector', given?.labelSelector, parseLabelSelector, labelRequirements);
  }

  #read<T>(
    name: string,
    given: Attributes | undefined,
    parse: (text: string) => T,
    understand: (requirements: readonly Requirement[]) => Understood<T>,
  ): T | undefined {
    if (!given) return undefined;
    if (!given.rawSelector) {
      const { selector, left } = understand(given.requirements ?? []);
      if (left) this.#ignore(name, selector !== undefined);
      return selector;
    }
    try {
      return parse(given.rawSelector);
    } catch {
      this.#ignore(name, false);
      return undefined;
    }
  }

  #ignore(name: string, partially: boolean): void {
    this.ignored.push(`${place}.${name} ${partially ? 'partially ' : ''}ignored due to parse error`);
  }
}

interface Understood<T> {
  /** The parsed selector; undefined when no requirement was understood. */
  readonly selector: T | undefined;
  /** Whether a requirement was left out. */
  readonly left: boolean;
}

/** Parses field requirements. A field selector compares with one value, so requirements with several are left out. */
function fieldTerms(requirements: readonly Requirement[]): Understood<FieldSelector> {
  const terms = requirements.flatMap(({ key = '', operator, values = [] }): FieldTerm[] => {
    const op = operator === 'In' ? '=' : operator === 'NotIn' ? '!=' : undefined;
    return op && values.length === 1 ? [{ path: key, op, value: values[0]! }] : [];
  });
  const left = terms.length < requirements.length;
  return { selector: terms.length ? new FieldSelector(terms) : undefined, left };
}

function labelRequirements(requirements: readonly Requirement[]): Understood<LabelSelector> {
  const known = requirements.filter(({ operator }) => operators.includes(operator));
  const matchExpressions = known.map(({ key = '', operator = '', values }) => ({ key, operator, values }));
  return {
    selector: known.length ? selectorFromObject({ matchExpressions }) : undefined,
    left: known.length < requirements.length,
  };
}

export const selectorErrors = (given: ResourceAttributes | undefined): FieldError[] => [
  ...attributesErrors(given?.fieldSelector, `${place}.fieldSelector`),
  ...attributesErrors(given?.labelSelector, `${place}.labelSelector`),
];

function attributesErrors(given: Attributes | undefined, path: string): FieldError[] {
  if (!given) return [];
  const { rawSelector, requirements = [] } = given;
  const list = child(path, 'requirements');
  if (!rawSelector && requirements.length === 0)
    return [required(list, `when ${path} is specified, requirements or rawSelector is required`)];
  if (rawSelector && requirements.length)
    return [
      invalid(child(path, 'rawSelector'), rawSelector, 'may not specified at the same time as requirements'),
    ];
  return requirements.flatMap((requirement, at) => requirementErrors(requirement, index(list, at)));
}

/** Checks a requirement. An unknown operator is not an error: a newer client may use one. */
function requirementErrors({ key, operator, values }: Requirement, path: string): FieldError[] {
  const errors: FieldError[] = key ? [] : [required(child(path, 'key'), 'must be specified')];
  const isSet = operator === 'In' || operator === 'NotIn';
  if (isSet && !values?.length)
    errors.push(required(child(path, 'values'), "must be specified when `operator` is 'In' or 'NotIn'"));
  if ((operator === 'Exists' || operator === 'DoesNotExist') && values?.length)
    errors.push(
      forbidden(child(path, 'values'), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
    );
  return errors;
}
