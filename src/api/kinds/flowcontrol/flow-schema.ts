/** FlowSchema: which requests form flows, and which priority level limits them. */
import { child, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type { FlowSchema, PolicyRulesWithSubjects } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { fixedSchemas } from '../../rules/access/flow-defaults.ts';
import {
  flowConditionErrors,
  flowSubjectErrors,
  nonResourceRuleErrors,
  resourceRuleErrors,
} from '../../rules/access/flow-rules.ts';
import { ageCell, ageColumn, nameColumn, orNone } from '../../rules/shared/columns.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import { semanticEqual } from '../../text/object.ts';
import { isSubdomain1123 } from '../../values/names.ts';

const precedenceDefault = 1000;
const precedenceMax = 10_000;
const methods = ['ByNamespace', 'ByUser'];

function* schemaErrors({ metadata, spec = {} }: FlowSchema): Findings {
  const { matchingPrecedence = 0, distinguisherMethod, priorityLevelConfiguration, rules = [] } = spec;
  const precedence = 'spec.matchingPrecedence';
  if (matchingPrecedence <= 0) yield invalid(precedence, matchingPrecedence, 'must be a positive value');
  if (matchingPrecedence > precedenceMax)
    yield invalid(precedence, matchingPrecedence, `must not be greater than ${precedenceMax}`);
  if (matchingPrecedence === 1 && metadata.name !== 'exempt')
    yield invalid(precedence, 1, "only the schema named 'exempt' may have matchingPrecedence 1");
  if (distinguisherMethod && !methods.includes(distinguisherMethod.type ?? ''))
    yield notSupported('spec.distinguisherMethod.type', { Type: distinguisherMethod.type ?? '' }, methods);
  const level = priorityLevelConfiguration?.name;
  const levelPath = 'spec.priorityLevelConfiguration.name';
  if (level) yield* problemsOf(levelPath, level, isSubdomain1123(level));
  else yield required(levelPath, 'must reference a priority level');
  for (const [i, rule] of rules.entries()) yield* ruleErrors(rule, index('spec.rules', i));
  const fixed = fixedSchemas.get(metadata.name ?? '');
  if (fixed && !semanticEqual(spec, fixed))
    yield invalid('spec', spec, `spec of '${metadata.name}' must equal the fixed value`);
}

function* ruleErrors(rule: PolicyRulesWithSubjects, path: string): Findings {
  const { subjects = [], resourceRules = [], nonResourceRules = [] } = rule;
  if (subjects.length === 0)
    yield required(child(path, 'subjects'), 'subjects must contain at least one value');
  for (const [i, subject] of subjects.entries())
    yield* flowSubjectErrors(subject, index(child(path, 'subjects'), i));
  if (resourceRules.length === 0 && nonResourceRules.length === 0)
    yield required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty');
  for (const [i, one] of resourceRules.entries())
    yield* resourceRuleErrors(one, index(child(path, 'resourceRules'), i));
  for (const [i, one] of nonResourceRules.entries())
    yield* nonResourceRuleErrors(one, index(child(path, 'nonResourceRules'), i));
}

/** Whether its level is missing, as the status says. */
function danglingCell({ status }: FlowSchema): string {
  return status?.conditions?.find(({ type }) => type === 'Dangling')?.status || '?';
}

export const flowSchema = defineKind<FlowSchema>({
  kind: 'FlowSchema',
  resource: 'flowschemas',
  singular: 'flowschema',
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  table: 'flowcontrol-v1',
  namespaced: false,
  generationOf: 'spec',
  subresources: [status({ validate: ({ status }) => collect(flowConditionErrors(status?.conditions)) })],

  defaults({ spec }) {
    if (spec) spec.matchingPrecedence ||= precedenceDefault;
  },

  validate: (schema) => collect(schemaErrors(schema)),

  columns: [
    nameColumn,
    { name: 'PriorityLevel', description: 'The priority level of its requests.' },
    {
      name: 'MatchingPrecedence',
      description: 'Of the schemas that match, the one with the lowest number is used.',
    },
    { name: 'DistinguisherMethod', description: 'What tells its flows apart.' },
    ageColumn,
    { name: 'MissingPL', description: 'Whether its priority level is missing.' },
  ],
  cells: (schema) => [
    schema.metadata.name,
    schema.spec?.priorityLevelConfiguration?.name ?? '',
    schema.spec?.matchingPrecedence ?? 0,
    orNone(schema.spec?.distinguisherMethod?.type),
    ageCell(schema),
    danglingCell(schema),
  ],
});
