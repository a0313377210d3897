/**
 * Proves that discovery and OpenAPI of every minor of Kubernetes show what `versions.json` says of it: every version,
 * resource, subresource and verb, with all names and the form that it is stored in, every model and field. The table is read here by itself, row by row, and no server is
 * started.
 */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isRelease } from '../../../test/support/tier.ts';
import { builtinKinds, KindTable } from '../../api/kinds/kinds.ts';
import { Enablement } from '../../api/kinds/runtime-config.ts';
import { firstMinor, lastMinor, Minor } from '../../api/minors/minor.ts';
import { versionTables as tables } from '../../api/minors/version-tables.ts';
import { Descriptions } from '../../api/model/descriptions.ts';
import { servedComputedVersions } from '../route-table.ts';
import { Discovery } from './discovery.ts';
import { operationsIn } from './openapi/minor-operations.ts';
import { operationsOf } from './openapi/operations.ts';
import type { Schema } from './openapi/schema.ts';
import { documentV2 } from './openapi/v2.ts';

interface Span {
  readonly since?: string;
  readonly until?: string;
  readonly served?: readonly string[];
}

const number = (version: string): number => Number(version.slice(2));

/** Whether a row is there in a minor. */
const isThere = (row: Span, minor: number): boolean =>
  number(row.since ?? '1.0') <= minor &&
  number(row.until ?? '1.99') >= minor &&
  (row.served?.includes(`1.${minor}`) ?? true);

/** `npm test` takes those that differ most from their neighbours. */
const minors = isRelease
  ? Array.from({ length: lastMinor - firstMinor + 1 }, (_, i) => firstMinor + i)
  : [22, 24, 29, 33, 36];

function clusterOf(number: number, runtimeConfig = {}) {
  const minor = new Minor(`1.${number}`);
  const kinds = new KindTable(
    [...builtinKinds, ...minor.kinds()],
    new Enablement(runtimeConfig, minor).serves,
    minor,
  );
  return { minor, kinds, discovery: new Discovery(kinds, servedComputedVersions(kinds)) };
}

/** A line as `pods/status: get,patch,update Pod true    `: verbs, kind, scope and further names of a resource. */
const lineOf = (name: string, ...facts: unknown[]): string => `${name}: ${facts.join(' ')}`;

/** What tells in which version objects are stored. */
const hashOf = (apiVersion: string, stored: string | undefined, kind: string): string => {
  const [version, group = ''] = apiVersion.split('/').reverse();
  const text = stored?.includes('/') ? stored : `${group}/${stored ?? version}`;
  return createHash('sha256').update(`${text}/${kind}`).digest().subarray(0, 8).toString('base64');
};

/** Definitions are stored in their first version, events as those of the core. */
const storedForEver: Readonly<Record<string, string>> = {
  CustomResourceDefinition: 'v1beta1',
  Event: '/v1',
};

/** The value of a table by the minor from which it holds. */
function valueIn<T>(value: T | Readonly<Record<string, T>> | undefined, minor: number): T | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value as T | undefined;
  return Object.entries(value).findLast(([from]) => number(from) <= minor)?.[1] as T | undefined;
}

/** Lines of what a minor serves. */
function expectedResources(minor: number, everything: boolean): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const [apiVersion, version] of Object.entries(tables.groupVersions)) {
    if (!isThere(version, minor)) continue;
    for (const [name, row] of Object.entries(version.resources)) {
      if (!isThere(row, minor) || (!row.default && !everything)) continue;
      if (row.gate && !isGateOn(row.gate, minor)) continue;
      const lines = (found[apiVersion] ??= []);
      const { kind, namespaced, short = '', categories = '', singular = '' } = row;
      const verbs = valueIn<readonly string[]>(row.verbs, minor);
      const stored = storedForEver[kind] ?? valueIn(row.stored, minor);
      const hash = verbs?.includes('watch') && hashOf(apiVersion, stored, kind);
      lines.push(lineOf(name, verbs, kind, namespaced, short, categories, minor < 27 ? '' : singular, hash));
      for (const [part, sub] of Object.entries(row.subresources ?? {}))
        if (isThere(sub, minor) && (!sub.gate || isGateOn(sub.gate, minor)))
          lines.push(lineOf(`${name}/${part}`, sub.verbs, sub.kind ?? kind, namespaced, '', '', '', false));
    }
  }
  for (const lines of Object.values(found)) lines.sort();
  return found;
}

function isGateOn(gate: string, minor: number): boolean {
  const states = Object.entries(tables.gates[gate] ?? {}).filter(
    ([from, state]) => number(from) <= minor && state !== null,
  );
  return states.at(-1)?.[1]?.[1] === '+';
}

function shownResources({ discovery }: ReturnType<typeof clusterOf>): Record<string, string[]> {
  return Object.fromEntries(
    discovery.served().map((apiVersion) => [
      apiVersion,
      discovery
        .resourceList(apiVersion)!
        .resources.map(({ name, verbs, kind, namespaced, storageVersionHash = false, ...names }) => {
          const { shortNames = '', categories = '', singularName } = names;
          return lineOf(
            name,
            verbs,
            kind,
            namespaced,
            shortNames,
            categories,
            singularName,
            storageVersionHash,
          );
        })
        .sort(),
    ]),
  );
}

describe.each(minors)('1.%i', (minor) => {
  it('serves the versions, resources and verbs of its table', () => {
    expect(shownResources(clusterOf(minor))).toEqual(expectedResources(minor, false));
  });

  it('serves all that is off by default when asked to', () => {
    const cluster = clusterOf(minor, { 'api/all': true });
    expect(shownResources(cluster)).toEqual(expectedResources(minor, true));
  });

  it('shows the fields of its table in OpenAPI, and no others', async () => {
    const definitions = await definitionsOf(minor);
    const wrong: string[] = [];
    for (const [apiVersion, models] of Object.entries(tables.types))
      for (const [name, row] of Object.entries(models)) {
        const shown = definitions[definitionOf(apiVersion, name)]?.properties;
        if (!shown) continue;
        for (const [field, span] of Object.entries(row.fields ?? {}))
          if (field in shown !== isThere(span, minor)) wrong.push(`${apiVersion} ${name}.${field}`);
        if (!isThere(row, minor)) wrong.push(`${apiVersion} ${name} is not there`);
      }
    expect(wrong).toEqual([]);
  });

  it('says of lists, maps, references and required fields what its documents said', async () => {
    const definitions = await definitionsOf(minor);
    const wrong: string[] = [];
    let compared = 0;
    for (const [place, { value, attribute, field, model }] of saidIn(minor)) {
      const [apiVersion, name] = model.split(':') as [string, string];
      const schema = definitions[definitionOf(apiVersion, name)];
      // Defaults are shown in version 3 alone.
      if (!schema || (field && !schema.properties?.[field]) || attribute === 'default') continue;
      compared++;
      const shown = shownAttribute(schema, field, attribute);
      const expected = attribute === 'type' ? definitionOf(...(value.split(':') as [string, string])) : value;
      if (JSON.stringify(shown) !== JSON.stringify(expected))
        wrong.push(`${place}: ${shown}, not ${expected}`);
    }
    expect(wrong).toEqual([]);
    expect(compared).toBeGreaterThan(150);
  });
});

async function definitionsOf(number: number): Promise<Record<string, Schema>> {
  const { kinds, discovery, minor } = clusterOf(number, { 'api/all': true });
  const operations = discovery
    .served()
    .map((one) => [one, operationsIn(minor, operationsOf(discovery, kinds, one))] as const);
  const making = documentV2(new Map(operations), await Descriptions.load(), minor);
  let step = making.next();
  while (!step.done) step = making.next();
  return step.value.definitions;
}

interface Said {
  readonly model: string;
  readonly field: string;
  readonly attribute: string;
  readonly value: any;
}

/** What the documents of a minor said where later or earlier ones said something else. */
function saidIn(minor: number): Map<string, Said> {
  const said = new Map<string, Said>();
  const versions = Object.keys(tables.openapi).sort((a, b) => number(a) - number(b));
  for (const version of versions)
    for (const [model, change] of Object.entries(tables.openapi[version]!))
      for (const [field, attributes] of Object.entries(change))
        for (const [attribute, [before, after]] of Object.entries(attributes)) {
          const place = `${model} ${field} ${attribute}`;
          const isPast = number(version) <= minor;
          if (isPast || !said.has(place))
            said.set(place, { model, field, attribute, value: isPast ? after : before });
        }
  return said;
}

const extensions: Readonly<Record<string, `x-${string}`>> = {
  listKeys: 'x-kubernetes-list-map-keys',
  listType: 'x-kubernetes-list-type',
  mapType: 'x-kubernetes-map-type',
  patchMergeKey: 'x-kubernetes-patch-merge-key',
  patchStrategy: 'x-kubernetes-patch-strategy',
};

function shownAttribute(schema: Schema, field: string, attribute: string): unknown {
  if (attribute === 'required') return schema.required?.includes(field) ?? false;
  const shown = field ? schema.properties![field]! : schema;
  return attribute === 'type' ? shown.$ref?.split('/').at(-1) : (shown[extensions[attribute]!] ?? null);
}

const packages: Readonly<Record<string, string>> = {
  'meta/v1': 'io.k8s.apimachinery.pkg.apis.meta.v1',
  'apiextensions.k8s.io/v1': 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1',
  'apiregistration.k8s.io/v1': 'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1',
  v1: 'io.k8s.api.core.v1',
};

function definitionOf(apiVersion: string, name: string): string {
  const [group = '', version] = apiVersion.split('/');
  return `${packages[apiVersion] ?? `io.k8s.api.${group.split('.')[0]}.${version}`}.${name}`;
}
