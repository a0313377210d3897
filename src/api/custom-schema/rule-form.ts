/** The form of rules in a schema: what is wrong with them before they are compiled. */
import { child, type FieldError, index, invalid, notSupported, required } from '../errors/field-error.ts';
import type { Schema, ValidationRule } from '../model/json-schema.ts';
import { readFieldPath } from './field-path.ts';

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];
const lineBreak = /[\r\n]/;

export function* ruleFormErrors(schema: Schema, path: string): Generator<FieldError> {
  const rules = schema['x-kubernetes-validations'] ?? [];
  for (const [position, rule] of rules.entries()) {
    const field = index(child(path, 'x-kubernetes-validations'), position);
    yield* textErrors(rule, field);
    yield* fieldPathErrors(rule.fieldPath ?? '', schema, child(field, 'fieldPath'));
  }
}

function* textErrors(rule: ValidationRule, path: string): Generator<FieldError> {
  const { message = '', messageExpression = '', reason } = rule;
  const expression = (rule.rule ?? '').trim();
  const shown = message.trim();
  if (expression === '') yield required(child(path, 'rule'), 'rule is not specified');
  else if (message !== '' && shown === '')
    yield invalid(child(path, 'message'), message, 'must be non-empty if specified');
  else if (lineBreak.test(shown))
    yield invalid(child(path, 'message'), message, 'must not contain line breaks');
  else if (lineBreak.test(expression) && shown === '')
    yield required(child(path, 'message'), 'message must be specified if rule contains line breaks');
  if (messageExpression !== '' && messageExpression.trim() === '')
    yield required(child(path, 'messageExpression'), 'messageExpression must be non-empty if specified');
  if (reason !== undefined && !reasons.includes(reason))
    yield notSupported(child(path, 'reason'), reason, reasons);
}

function* fieldPathErrors(fieldPath: string, schema: Schema, path: string): Generator<FieldError> {
  if (fieldPath === '') return;
  if (fieldPath.trim() === '') yield invalid(path, fieldPath, 'must be non-empty if specified');
  if (lineBreak.test(fieldPath)) yield invalid(path, fieldPath, 'must not contain line breaks');
  if (typeof readFieldPath(fieldPath, schema, true) === 'string')
    yield invalid(path, fieldPath, 'must be a valid path');
}
