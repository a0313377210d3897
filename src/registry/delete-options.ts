/** The options of a delete. */
import { invalidOptions } from '../api/errors/errors.ts';
import { type FieldError, invalid, notSupported } from '../api/errors/field-error.ts';

export interface DeleteOptions {
  gracePeriodSeconds?: number;
  preconditions?: { uid?: string; resourceVersion?: string };
  orphanDependents?: boolean;
  propagationPolicy?: string;
  dryRun?: readonly string[];
}

const policies: readonly string[] = ['Foreground', 'Background', 'Orphan'];

export function checkDeleteOptions(options: DeleteOptions): void {
  const errors: FieldError[] = [];
  const policy = options.propagationPolicy;
  if (policy !== undefined && !policies.includes(policy))
    errors.push(notSupported('propagationPolicy', policy, [...policies, 'nil']));
  else if (policy !== undefined && options.orphanDependents !== undefined)
    errors.push(
      invalid('propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set'),
    );
  if (options.dryRun?.some((value) => value !== 'All'))
    errors.push(notSupported('dryRun', options.dryRun, ['All']));
  if (errors.length) throw invalidOptions('DeleteOptions', errors);
}
