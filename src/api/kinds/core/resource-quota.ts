/** ResourceQuota: limits the total resource usage of a namespace. */
import { invalid } from '../../errors/field-error.ts';
import type { ResourceQuota, ResourceQuotaSpec, ResourceQuotaStatus } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { scopeErrors, scopeSelectorErrors } from '../../rules/quota/quota-scope.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';
import { resourceListErrors, roundResources } from '../../rules/shared/resource-name.ts';
import { compareQuantities, parseQuantity } from '../../values/quantity.ts';

const limitsPrefix = 'limits.';
/** Resources that can be counted both as requested and as limited. */
const requestable = ['cpu', 'memory', 'ephemeral-storage'];

const sameSet = (a: readonly string[] = [], b: readonly string[] = []): boolean => {
  const [left, right] = [new Set(a), new Set(b)];
  return left.size === right.size && [...left].every((item) => right.has(item));
};

/** `name: used/hard` of the resources in a column. */
function usageText({ hard = {}, used = {} }: ResourceQuotaStatus, shown: (name: string) => boolean): string {
  const names = Object.keys(hard).filter(shown).sort();
  return names
    .map((name) => `${name}: ${Object.hasOwn(used, name) ? used[name] : '0'}/${hard[name]}`)
    .join(', ');
}

function* specErrors(spec: ResourceQuotaSpec = {}): Findings {
  yield* resourceListErrors(spec.hard, 'spec.hard', 'quota');
  yield* scopeErrors(spec, 'spec.scopes');
  yield* scopeSelectorErrors(spec, 'spec.scopeSelector');
}

function* statusErrors(status: ResourceQuotaStatus = {}): Findings {
  yield* resourceListErrors(status.hard, 'status.hard', 'quota');
  yield* resourceListErrors(status.used, 'status.used', 'quota');
}

export const resourceQuota = defineKind<ResourceQuota>({
  kind: 'ResourceQuota',
  resource: 'resourcequotas',
  singular: 'resourcequota',
  shortNames: ['quota'],
  namespaced: true,
  subresources: [status({ validate: ({ status }) => collect(statusErrors(status)) })],
  deletion: { returnsObject: true },

  defaults({ spec, status }) {
    roundResources(spec?.hard);
    roundResources(status?.hard);
    roundResources(status?.used);
  },

  validate: ({ spec }) => collect(specErrors(spec)),
  validateUpdate: ({ spec }, old) =>
    sameSet(spec?.scopes, old.spec?.scopes)
      ? []
      : [invalid('spec.scopes', spec?.scopes ?? null, 'field is immutable')],

  warnings({ spec }) {
    const hard = spec?.hard ?? {};
    return requestable.flatMap((name) => {
      const request = hard[`requests.${name}`];
      const limit = hard[`limits.${name}`];
      if (request === undefined || limit === undefined) return [];
      if (compareQuantities(parseQuantity(request), parseQuantity(limit)) <= 0) return [];
      return [`ResourceQuota requests.${name} (${request}) should be less than limits.${name} (${limit})`];
    });
  },

  columns: [
    nameColumn,
    { name: 'Request', description: 'Used and allowed objects and requests.' },
    { name: 'Limit', description: 'Used and allowed limits.' },
    ageColumn,
  ],
  cells: (quota) => [
    quota.metadata.name,
    usageText(quota.status ?? {}, (name) => !name.startsWith(limitsPrefix)),
    usageText(quota.status ?? {}, (name) => name.startsWith(limitsPrefix)),
    ageCell(quota),
  ],
});
