/**
 * Binding: assigns an object to another as a Binding says (a pod to a node), by the rules of its kind. Only the object
 * is stored, not the Binding.
 */
import { badRequest, invalid, plain, type StatusError } from '../../api/errors/errors.ts';
import type { FieldError } from '../../api/errors/field-error.ts';
import type { Binding } from '../../api/generated/types.ts';
import type { Compatibility } from '../compatibility.ts';
import type { Request } from '../request.ts';
import type { Target } from '../target.ts';
import type { Writing } from '../writing.ts';
import { checkPreconditions, modify } from './modify.ts';

export async function bind(
  writing: Writing,
  request: Request,
  target: Target,
  binding: Binding,
  compatibility: Compatibility = 'contract',
): Promise<void> {
  const name = binding.metadata.name ?? '';
  if (target.name !== name) throw badRequest('name in URL does not match name in Binding object');
  const rules = target.kind.binding!;
  const errors = rules.errors(binding);
  if (errors.length) throw targetRefusal(name, errors, compatibility);
  await writing.admission.connect(writing.registry, request, target, binding);
  await modify(writing, request, { ...target, part: 'whole' }, (current) => {
    const object = current.object();
    checkPreconditions(target.kind, name, binding.metadata, current, object);
    rules.assign(object, binding, writing.registry.now());
    return object;
  });
}

/** The error for an invalid target: 422 as in Kubernetes 1.1, or a bare 500 as on a current server. */
function targetRefusal(
  name: string,
  errors: readonly FieldError[],
  compatibility: Compatibility,
): StatusError {
  if (compatibility === 'contract') return invalid({ kind: 'Binding', group: '' }, name, errors);
  const texts = errors.map((error) => `${error.field}: ${error.message}`);
  return plain(texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`);
}
