/** Claims for devices in pods: which there are, and which containers use them. */
import { child, duplicate, index, invalid, notFoundIn } from '../../errors/field-error.ts';
import type { PodResourceClaim, ResourceClaim } from '../../generated/types.ts';
import { innerForm } from '../../model/inner-form.ts';
import { modelOf } from '../../model/model.ts';
import { isLabel1123, isSubdomain1123 } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';

export function* podClaimErrors(claims: readonly PodResourceClaim[], path: string): Findings {
  const seen = new Set<string>();
  for (const [i, claim] of claims.entries()) {
    const { name = '', resourceClaimName, resourceClaimTemplateName } = claim;
    const at = index(path, i);
    yield* problemsOf(child(at, 'name'), name, isLabel1123(name));
    if (seen.has(name)) yield duplicate(child(at, 'name'), name);
    seen.add(name);
    const shown = () => innerForm(modelOf('PodResourceClaim'), claim);
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined)
      yield invalid(
        at,
        shown(),
        'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
      );
    else if (resourceClaimName === undefined && resourceClaimTemplateName === undefined)
      yield invalid(at, shown(), 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
    for (const [part, value] of Object.entries({ resourceClaimName, resourceClaimTemplateName }))
      if (value !== undefined) yield* problemsOf(child(at, part), value, isSubdomain1123(value));
  }
}

/** The claims that a container names. */
export function* usedClaimErrors(
  used: readonly ResourceClaim[],
  path: string,
  claims: readonly PodResourceClaim[] = [],
): Findings {
  const names = [...new Set(claims.map(({ name = '' }) => name))];
  const seen = new Set<string>();
  for (const [i, { name = '', request = '' }] of used.entries()) {
    const at = index(path, i);
    const identity = request ? `${name}/${request}` : name;
    if (!names.includes(name))
      yield notFoundIn(at, name, `must be one of the names in pod.spec.resourceClaims: ${names.join(', ')}`);
    if (seen.has(identity)) yield duplicate(at, identity);
    seen.add(identity);
  }
}
