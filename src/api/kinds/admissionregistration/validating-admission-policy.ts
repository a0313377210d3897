/** ValidatingAdmissionPolicy: expressions that must hold for objects to be stored, where a binding says so. */
import { child, duplicate, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type { AuditAnnotation, ValidatingAdmissionPolicy, Validation } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { defaultPolicy, paramKindCell, policyErrors } from '../../rules/admission/policies.ts';
import { PolicyScope } from '../../rules/admission/policy-scope.ts';
import { staticNameWarnings } from '../../rules/admission/static-names.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import { isQualifiedName } from '../../values/names.ts';

const annotationsMax = 20;
const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const lineBreak = /[\r\n]/;

export const validatingAdmissionPolicy = defineKind<ValidatingAdmissionPolicy>({
  kind: 'ValidatingAdmissionPolicy',
  resource: 'validatingadmissionpolicies',
  singular: 'validatingadmissionpolicy',
  categories: ['api-extensions'],
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  table: 'admissionregistration-v1',
  namespaced: false,
  warnings: staticNameWarnings,
  subresources: [status()],
  generationOf: 'spec',

  defaults({ spec }) {
    if (spec) defaultPolicy(spec);
  },

  validate: (policy) => collect(errorsOf(policy)),

  columns: [
    nameColumn,
    { name: 'Validations', type: 'integer', description: 'Number of validations.' },
    { name: 'ParamKind', type: 'string', description: 'Kind of the parameters.' },
    ageColumn,
  ],
  cells: (policy) => [
    policy.metadata.name,
    policy.spec?.validations?.length ?? 0,
    paramKindCell(policy.spec?.paramKind),
    ageCell(policy),
  ],
});

function* errorsOf({ metadata, spec = {} }: ValidatingAdmissionPolicy): Findings {
  const scope = new PolicyScope(spec, false);
  const { validations = [], auditAnnotations = [] } = spec;
  yield* policyErrors(spec, scope);
  if (validations.length + auditAnnotations.length === 0) {
    const detail = 'validations or auditAnnotations must contain at least one item';
    yield required('spec.validations', detail);
    yield required('spec.auditAnnotations', detail);
  }
  for (const [i, validation] of validations.entries())
    yield* validationErrors(validation, index('spec.validations', i), scope);
  yield* annotationErrors(auditAnnotations, metadata.name ?? '', scope);
}

function* validationErrors(validation: Validation, path: string, scope: PolicyScope): Findings {
  const { expression = '', messageExpression = '', message = '', reason } = validation;
  const expressionPath = child(path, 'expression');
  if (!expression.trim()) yield required(expressionPath, 'expression is not specified');
  else yield* expressionErrors(expressionPath, expression, scope.expression(expression, ['bool']).problem);
  const messagePath = child(path, 'messageExpression');
  if (messageExpression && !messageExpression.trim())
    yield invalid(messagePath, messageExpression, 'must be non-empty if specified');
  else if (messageExpression)
    yield* expressionErrors(messagePath, messageExpression, scope.message(messageExpression).problem);
  const textPath = child(path, 'message');
  if (message && !message.trim()) yield invalid(textPath, message, 'must be non-empty if specified');
  else if (lineBreak.test(message.trim())) yield invalid(textPath, message, 'must not contain line breaks');
  else if (lineBreak.test(expression.trim()) && !message)
    yield required(textPath, 'message must be specified if expression contains line breaks');
  if (reason !== undefined && !reasons.includes(reason))
    yield notSupported(child(path, 'reason'), reason, reasons);
}

function* annotationErrors(
  annotations: readonly AuditAnnotation[],
  policy: string,
  scope: PolicyScope,
): Findings {
  const path = 'spec.auditAnnotations';
  if (annotations.length > annotationsMax)
    yield invalid(path, annotations, `must not have more than ${annotationsMax} auditAnnotations`);
  const seen = new Set<string>();
  for (const [i, { key = '', valueExpression = '' }] of annotations.entries()) {
    const keyPath = child(index(path, i), 'key');
    if (seen.has(key)) yield duplicate(keyPath, key);
    else yield* problemsOf(keyPath, `${policy}/${key}`, isQualifiedName(`${policy}/${key}`));
    seen.add(key);
    const valuePath = child(index(path, i), 'valueExpression');
    if (!valueExpression.trim()) yield required(valuePath, 'valueExpression is not specified');
    else
      yield* expressionErrors(
        valuePath,
        valueExpression,
        scope.expression(valueExpression, ['string', 'null_type']).problem,
      );
  }
}

function* expressionErrors(path: string, expression: string, problem: string | undefined): Findings {
  if (problem) yield invalid(path, expression, problem);
}
