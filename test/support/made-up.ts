/**
 * Random requests. Objects are generated from the field tables, mostly with the right types, so that they
 * pass the decoder and reach the validation, tables and patches of every kind.
 */
import fc from 'fast-check';
import type { Kind } from '../../src/api/kind/kind.ts';
import type { Field, Model } from '../../src/api/model/model.ts';
import { samples } from '../contract/samples.ts';
import { type Headers, jsonPatch, mergePatch, strategicPatch } from './http.ts';

/** Depth up to which objects are filled in. */
const depthMax = 6;

export type Gen = fc.GeneratorValue;

const chance = (gen: Gen, percent: number): boolean => gen(fc.nat, { max: 99 }) < percent;
export const pick = <T>(gen: Gen, options: readonly T[]): T =>
  options[gen(fc.nat, { max: options.length - 1 })]!;

const names = ['a', 'b', 'c.d', 'x-1'];
const oddTexts = [
  ...['', ' ', '\u0000', '\ud800', 'x'.repeat(300)],
  ...'__proto__ ../.. % 😀 ü a/b/c - .'.split(' '),
];
/** Values that many fields accept, so that later validation rules are reached. */
const plainTexts = [
  ...names,
  ...'1 80 0 -1 100m 1Gi 1e3 10.0.0.1 ::1 10.0.0.0/8 2026-01-02T03:04:05Z / /a http v1 True'.split(' '),
  ...'Always Never OnFailure TCP UDP ClusterIP None NodePort ClusterFirst Pod Container Node'.split(' '),
  ...'ReadWriteOnce Retain Exists In Equal NoSchedule Opaque Terminating Active kubernetes'.split(' '),
  ...'cpu memory pods storage example.com/a kubernetes.io/tls'.split(' '),
];
const numbers = [0, 1, -1, 2, 30, 80, 65_535, 65_536, 1.5, 1e21, -0].concat(
  [31, 53].flatMap((bits) => [2 ** bits - 1, 2 ** bits, -(2 ** bits)]),
);

const text = (gen: Gen): string => (chance(gen, 92) ? pick(gen, plainTexts) : pick(gen, oddTexts));
const anything = (gen: Gen): unknown => gen(fc.jsonValue, { maxDepth: 2 });

function fieldValue(gen: Gen, field: Field, depth: number): unknown {
  if (chance(gen, 2)) return chance(gen, 50) ? null : anything(gen);
  switch (field.type) {
    case 'model':
      return objectOf(gen, field.model, depth + 1);
    case 'array':
      return Array.from({ length: pick(gen, [0, 1, 1, 2, 3]) }, () =>
        fieldValue(gen, field.items!, depth + 1),
      );
    case 'map':
      return Object.fromEntries(
        Array.from({ length: pick(gen, [0, 1, 2]) }, () => [
          text(gen),
          fieldValue(gen, field.values!, depth + 1),
        ]),
      );
    case 'boolean':
      return chance(gen, 50);
    case 'integer':
    case 'number':
      return pick(gen, numbers);
    case 'int-or-string':
      return chance(gen, 50) ? pick(gen, numbers) : text(gen);
    case 'quantity':
      return chance(gen, 30)
        ? pick(gen, numbers)
        : pick(gen, ['1', '100m', '1Gi', '0', '-1', '1e3', '9'.repeat(30), 'x']);
    case 'bytes':
      return pick(gen, ['', 'eA==', 'AAAA', '!', 'e30=']);
    case 'time':
    case 'microtime':
      return pick(gen, [
        '2026-01-02T03:04:05Z',
        '2026-01-02T03:04:05.000006Z',
        '0001-01-01T00:00:00Z',
        '',
        'now',
      ]);
    case 'raw':
      return anything(gen);
    default:
      return chance(gen, 40)
        ? pick(gen, field.definition.enum ?? field.definition.known ?? plainTexts)
        : text(gen);
  }
}

function objectOf(gen: Gen, model: Model, depth: number): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  if (depth > depthMax) return object;
  const required = model.definition.required ?? [];
  for (const field of model.order)
    if (chance(gen, required.includes(field.name) ? 90 : depth < 2 ? 45 : 20))
      object[field.name] = fieldValue(gen, field, depth);
  if (chance(gen, 3)) object[text(gen)] = anything(gen);
  return object;
}

/** A valid object of a kind. */
export const sampleOf = (kind: Kind, name: string): Record<string, unknown> =>
  (samples[kind.kind]?.manifest('', name) as Record<string, unknown>) ?? { metadata: { name } };

/** A valid object with a random value replaced. */
function spoilt(
  gen: Gen,
  model: Model,
  object: Record<string, unknown>,
  depth: number,
): Record<string, unknown> {
  const field = pick(gen, model.order);
  const inner = object[field.name];
  const deeper = field.type === 'model' && typeof inner === 'object' && inner !== null && chance(gen, 80);
  return {
    ...object,
    [field.name]: deeper
      ? spoilt(gen, field.model, inner as Record<string, unknown>, depth + 1)
      : fieldValue(gen, field, depth),
  };
}

/** An object of a kind, usually with a valid name. */
function manifest(gen: Gen, kind: Kind, name: string): Record<string, unknown> {
  let object = sampleOf(kind, name);
  if (chance(gen, 70))
    for (let times = gen(fc.nat, { max: 3 }); times >= 0; times--)
      object = spoilt(gen, kind.model, object, 0);
  else object = objectOf(gen, kind.model, 0);
  if (chance(gen, 5)) return object;
  delete object['kind'];
  delete object['apiVersion'];
  const sent = object['metadata'];
  const metadata = { ...(typeof sent === 'object' ? sent : {}), name } as Record<string, unknown>;
  for (const member of ['namespace', 'resourceVersion', 'uid']) if (chance(gen, 90)) delete metadata[member];
  object['metadata'] = metadata;
  return object;
}

export interface Request {
  readonly method: string;
  readonly path: string;
  /** The name of the object, if the request has one. */
  readonly name: string;
  readonly body?: string;
  readonly headers: Headers;
}

export const accepts = [
  'application/json',
  'application/yaml',
  '*/*',
  'text/html',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json',
  ';;,,q=;=',
  'application/json;as=__proto__;v=v1;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf,application/json',
  'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
];
const parameters = [
  ...'labelSelector fieldSelector limit continue resourceVersion resourceVersionMatch pretty timeout'.split(
    ' ',
  ),
  ...'dryRun fieldManager fieldValidation force includeObject gracePeriodSeconds export'.split(' '),
  ...'propagationPolicy orphanDependents'.split(' '),
];
const parameterValues = [
  ...['', '\u0000', 'a in (b,c),!d', 'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYSJ9'],
  ...'0 1 2 -1 abc true false All Strict Ignore Warn Exact NotOlderThan Object None'.split(' '),
  ...'a=b metadata.name=a metadata.namespace!=default status.phase=Active spec.nodeName='.split(' '),
  ...'type=Opaque Background Foreground Orphan 1s 1ns __proto__ 😀'.split(' '),
];

function queryOf(gen: Gen): string {
  const count = pick(gen, [0, 0, 0, 0, 0, 1, 1, 2, 4]);
  const pairs = Array.from(
    { length: count },
    () => `${pick(gen, parameters)}=${encodeURIComponent(pick(gen, parameterValues))}`,
  );
  return pairs.length ? `?${pairs.join('&')}` : '';
}

export const prefixOf = (kind: Kind): string =>
  kind.group ? `/apis/${kind.apiVersion}` : `/api/${kind.version}`;

const pathOf = (gen: Gen, kind: Kind): string => {
  const prefix = prefixOf(kind);
  const namespace = chance(gen, 92) ? 'default' : pick(gen, ['other', 'nowhere', undefined]);
  const scope = kind.namespaced && namespace ? `/namespaces/${namespace}` : '';
  return `${prefix}${scope}/${kind.resource}`;
};

function patchOf(gen: Gen, kind: Kind): { body: unknown; type: string } {
  if (chance(gen, 40))
    return { body: spoilt(gen, kind.model, {}, 0), type: pick(gen, [mergePatch, strategicPatch]) };
  if (chance(gen, 60))
    return { body: objectOf(gen, kind.model, 0), type: pick(gen, [mergePatch, strategicPatch]) };
  const pointer = (): string => {
    const parts = 'metadata spec status data labels finalizers containers template ports 0 1 -'.split(' ');
    return Array.from({ length: pick(gen, [0, 1, 2, 3, 4]) }, () => `/${pick(gen, parts)}`).join('');
  };
  const operation = () => ({
    op: pick(gen, ['add', 'replace', 'remove', 'test', 'copy', 'move', 'x']),
    path: pointer(),
    ...(chance(gen, 80) ? { value: anything(gen) } : {}),
    ...(chance(gen, 40) ? { from: pointer() } : {}),
  });
  return { body: Array.from({ length: pick(gen, [0, 1, 1, 2, 3]) }, operation), type: jsonPatch };
}

export function requestOf(gen: Gen, kind: Kind): Request {
  const name = pick(gen, names);
  const collection = pathOf(gen, kind);
  const part = chance(gen, 15)
    ? `/${pick(gen, ['status', 'scale', 'finalize', 'binding', 'log', 'exec', 'proxy', 'nope'])}`
    : '';
  const object = `${collection}/${chance(gen, 95) ? name : encodeURIComponent(pick(gen, oddTexts).replace('\ud800', ''))}${part}`;
  const query = queryOf(gen);
  const headers: Headers = chance(gen, 20) ? { Accept: pick(gen, accepts) } : {};
  const json = {
    ...headers,
    'Content-Type': pick(gen, ['application/json', 'application/json', 'application/yaml', 'x']),
  };
  const write = (): string => JSON.stringify(chance(gen, 97) ? manifest(gen, kind, name) : anything(gen));
  switch (pick(gen, 'create create create replace patch patch delete clear list get path'.split(' '))) {
    case 'create':
      return { method: 'POST', path: collection + query, body: write(), headers: json, name };
    case 'replace':
      return { method: 'PUT', path: object + query, body: write(), headers: json, name };
    case 'patch': {
      const { body, type } = patchOf(gen, kind);
      return {
        method: 'PATCH',
        path: object + query,
        body: JSON.stringify(body),
        headers: { ...headers, 'Content-Type': type },
        name,
      };
    }
    case 'delete':
      return { method: 'DELETE', path: object + query, headers, name };
    case 'clear':
      return { method: 'DELETE', path: collection + query, headers, name };
    case 'list':
      return { method: 'GET', path: collection + query, headers, name };
    case 'get':
      return { method: 'GET', path: object + query, headers, name };
    default:
      return {
        method: pick(gen, ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS']),
        path: oddPath(gen) + query,
        headers,
        name,
      };
  }
}

function oddPath(gen: Gen): string {
  const parts = [
    ...'api apis v1 extensions v1beta1 watch proxy namespaces default pods a .. %00 %2F'.split(' '),
    ...'healthz version openapi v2 componentstatuses bindings __proto__ %F0%9F%98%80 %zz'.split(' '),
    '',
  ];
  const path = Array.from({ length: pick(gen, [0, 1, 2, 3, 4, 5, 7]) }, () => `/${pick(gen, parts)}`).join(
    '',
  );
  // No watches: streams are tested elsewhere.
  return path.replaceAll('/watch', chance(gen, 50) ? '' : '/Watch') || '/';
}
