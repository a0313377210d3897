/** ServiceCIDR: ranges from which services get their addresses. */

import { type FieldError, index, invalid, required } from '../../errors/field-error.ts';
import type { ServiceCIDR } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { takeStoredMetadata } from '../../kind/meta.ts';
import { statusOnly } from '../../kind/reset-fields.ts';
import { status } from '../../kind/subresource.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import { isCanonicalCIDR, parseCIDR } from '../../values/addresses.ts';

const rangesMax = 2;
const path = 'spec.cidrs';
const fixed = 'field is immutable';

function* rangeErrors({ spec }: ServiceCIDR): Findings {
  const { cidrs = [] } = spec ?? {};
  if (cidrs.length === 0) return yield required(path, 'at least one CIDR required');
  if (cidrs.length > rangesMax)
    return yield invalid(path, { CIDRs: cidrs }, `may only hold up to ${rangesMax} values`);
  const [first, second] = cidrs.map((cidr) => parseCIDR(cidr)?.family);
  if (cidrs.length === rangesMax && (!first || !second || first === second))
    yield invalid(
      path,
      cidrs,
      'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    );
  for (const [i, cidr] of cidrs.entries()) yield* problemsOf(index(path, i), cidr, isCanonicalCIDR(cidr));
}

/** A range of the other family may be added; nothing else may change. */
function changeErrors({ spec }: ServiceCIDR, old: ServiceCIDR): FieldError[] {
  const [now, before] = [spec?.cidrs ?? [], old.spec?.cidrs ?? []];
  const grows = before.length === 1 && now.length === rangesMax;
  if (now.length !== before.length && !grows) return [invalid(path, now, fixed)];
  return before.flatMap((cidr, i) => (cidr === now[i] ? [] : [invalid(index(path, i), now[i], fixed)]));
}

export const serviceCidr = defineKind<ServiceCIDR>({
  kind: 'ServiceCIDR',
  resource: 'servicecidrs',
  singular: 'servicecidr',
  group: 'networking.k8s.io',
  version: 'v1',
  table: 'networking-v1',
  namespaced: false,
  subresources: [status({ prepare: takeStoredMetadata, resets: statusOnly })],

  validate: (range) => collect(rangeErrors(range)),
  validateUpdate: changeErrors,

  columns: [nameColumn, { name: 'CIDRs', description: 'The ranges, one of each family.' }, ageColumn],
  cells: (range) => [range.metadata.name, (range.spec?.cidrs ?? []).join(','), ageCell(range)],
});
