/** Rules and defaults that validating and mutating admission policies, and their bindings, share. */

import {
  child,
  duplicate,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '../../errors/field-error.ts';
import type {
  MatchResources,
  NamedRuleWithOperations,
  ParamKind,
  ParamRef,
  Variable,
} from '../../generated/types.ts';
import type { Column } from '../../kind/kind.ts';
import { type LabelSelectorObject, validateLabelSelectorObject } from '../../kind/label-selector.ts';
import type { ApiObject } from '../../text/object.ts';
import type { Cell } from '../../values/elapsed.ts';
import { isLabel1035, isPathSegment, isSubdomain1123 } from '../../values/names.ts';
import { ageCell, ageColumn, nameColumn } from '../shared/columns.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { operationRuleErrors } from './operation-rules.ts';
import { isIdentifier, type PolicyScope, type PolicySpec } from './policy-scope.ts';
import { choiceErrors, defaultRules, matchConditionErrors } from './webhooks.ts';

export function defaultPolicy(spec: PolicySpec): void {
  spec.failurePolicy ??= 'Fail';
  defaultMatch(spec.matchConstraints);
}

export function defaultMatch(match: MatchResources | undefined): void {
  if (!match) return;
  match.matchPolicy ??= 'Equivalent';
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  defaultRules(match.resourceRules);
  defaultRules(match.excludeResourceRules);
}

/** What is checked before the validations or mutations. */
export function* policyErrors(spec: PolicySpec, scope: PolicyScope): Findings {
  const { failurePolicy, paramKind, matchConstraints, matchConditions, variables = [] } = spec;
  yield* choiceErrors(failurePolicy, 'spec.failurePolicy', ['Fail', 'Ignore']);
  if (paramKind) yield* paramKindErrors(paramKind);
  if (!matchConstraints) yield required('spec.matchConstraints');
  else {
    yield* matchErrors(matchConstraints, 'spec.matchConstraints');
    if (!matchConstraints.resourceRules?.length) yield required('spec.matchConstraints.resourceRules');
  }
  yield* matchConditionErrors(
    matchConditions,
    'spec.matchConditions',
    (text) => scope.condition(text).problem,
  );
  yield* variableErrors(variables, scope);
}

function* paramKindErrors({ apiVersion = '', kind = '' }: ParamKind): Findings {
  const versionPath = 'spec.paramKind.apiVersion';
  const parts = apiVersion.split('/');
  if (!apiVersion) yield required(versionPath);
  else if (parts.length > 2)
    yield invalid(versionPath, apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
  else {
    const [version = '', group] = [...parts].reverse();
    if (group !== undefined) yield* problemsOf(versionPath, group, isSubdomain1123(group));
    yield* problemsOf(versionPath, version, isLabel1035(version));
  }
  const kindPath = 'spec.paramKind.kind';
  if (!kind) return yield required(kindPath);
  for (const problem of isLabel1035(kind.toLowerCase()))
    yield invalid(kindPath, kind, `may have mixed case, but should otherwise match: ${problem}`);
}

function* matchErrors(match: MatchResources, path: string): Findings {
  yield* choiceErrors(match.matchPolicy, child(path, 'matchPolicy'), ['Equivalent', 'Exact']);
  const { namespaceSelector, objectSelector, resourceRules = [], excludeResourceRules = [] } = match;
  const selectors = { namespaceSelector, objectSelector };
  for (const [name, selector] of Object.entries(selectors))
    yield* validateLabelSelectorObject(selector as LabelSelectorObject | undefined, child(path, name));
  for (const [i, rule] of resourceRules.entries())
    yield* namedRuleErrors(rule, index(child(path, 'resourceRules'), i));
  for (const [i, rule] of excludeResourceRules.entries())
    yield* namedRuleErrors(rule, index(child(path, 'excludeResourceRules'), i));
}

function* namedRuleErrors(rule: NamedRuleWithOperations, path: string): Findings {
  yield* operationRuleErrors(rule, path);
  const seen = new Set<string>();
  for (const [i, name] of (rule.resourceNames ?? []).entries()) {
    const namePath = index(child(path, 'resourceNames'), i);
    if (seen.has(name)) yield duplicate(namePath, name);
    else yield* problemsOf(namePath, name, isPathSegment(name));
    seen.add(name);
  }
}

function* variableErrors(variables: readonly Variable[], scope: PolicyScope): Findings {
  const seen = new Set<string>();
  for (const [i, { name = '', expression = '' }] of variables.entries()) {
    const path = index('spec.variables', i);
    if (!name.trim()) yield required(child(path, 'name'), 'name is not specified');
    else if (!isIdentifier(name)) yield invalid(child(path, 'name'), name, 'must be a valid CEL identifier');
    else if (seen.has(name)) yield duplicate(child(path, 'name'), name);
    seen.add(name);
    const problem = scope.variables[i]?.checked.problem;
    if (!expression.trim()) yield required(child(path, 'expression'), 'expression is not specified');
    else if (problem) yield invalid(child(path, 'expression'), expression, problem);
  }
}

/** What bindings of both kinds have. */
export interface BindingSpec {
  policyName?: string;
  paramRef?: ParamRef;
  matchResources?: MatchResources;
}

export function* bindingErrors({ policyName = '', paramRef, matchResources }: BindingSpec): Findings {
  if (!policyName) yield required('spec.policyName');
  else yield* problemsOf('spec.policyName', policyName, isSubdomain1123(policyName));
  if (paramRef) yield* paramRefErrors(paramRef, 'spec.paramRef');
  if (matchResources) yield* matchErrors(matchResources, 'spec.matchResources');
}

const notFoundActions = ['Deny', 'Allow'];

function* paramRefErrors(ref: ParamRef, path: string): Findings {
  const { name = '', selector, parameterNotFoundAction } = ref;
  if (name) {
    yield* problemsOf(child(path, 'name'), name, isPathSegment(name));
    if (selector) {
      yield forbidden(child(path, 'name'), 'name and selector are mutually exclusive');
      yield forbidden(child(path, 'selector'), 'name and selector are mutually exclusive');
    }
  } else if (selector)
    yield* validateLabelSelectorObject(selector as LabelSelectorObject, child(path, 'selector'));
  else yield required(path, 'one of name or selector must be specified');
  const actionPath = child(path, 'parameterNotFoundAction');
  if (!parameterNotFoundAction) yield required(actionPath);
  else if (!notFoundActions.includes(parameterNotFoundAction))
    yield notSupported(actionPath, parameterNotFoundAction, notFoundActions);
}

/** A parameter's kind and reference, as tables show them. */
export const paramKindCell = (kind: ParamKind | undefined): string =>
  kind ? `${kind.apiVersion}/${kind.kind}` : '<unset>';

/** The columns of bindings. */
export const bindingTable = {
  columns: [
    nameColumn,
    { name: 'PolicyName', type: 'string', description: 'The policy that is bound.' },
    { name: 'ParamRef', type: 'string', description: 'Where its parameters are.' },
    ageColumn,
  ] satisfies Column[],
  cells: (binding: ApiObject & { spec?: { policyName?: string; paramRef?: ParamRef } }): Cell[] => [
    binding.metadata.name,
    binding.spec?.policyName ?? '',
    paramRefCell(binding.spec?.paramRef),
    ageCell(binding),
  ],
};

function paramRefCell(ref: ParamRef | undefined): string {
  if (!ref) return '<unset>';
  return ref.namespace ? `${ref.namespace}/${ref.name ?? ''}` : `*/${ref.name ?? ''}`;
}
