/**
 * Proves that no kind is surprised by what is not there: every list, map and struct of an object absent, null, empty and
 * with empty members, by create, update, every kind of patch and apply, and again on what was stored so. Nothing of this
 * may be an internal error, and null is answered like an absent field.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Kind } from '../../src/api/kind/kind.ts';
import { builtinKinds } from '../../src/api/kinds/kinds.ts';
import type { Model } from '../../src/api/model/model.ts';
import { isFault } from '../support/faults.ts';
import { type Json, jsonPatch, mergePatch, type Reply, strategicPatch } from '../support/http.ts';
import { useTarget } from '../support/target.ts';
import { isRelease } from '../support/tier.ts';
import { homeOf, validBody } from './kind-bodies.ts';

/** Depth up to which fields are left out: that of a container's probe in the template of a cron job. */
const depthMax = 9;
const applyPatch = 'application/apply-patch+yaml';
const absent = Symbol('absent');

type Path = readonly (string | number)[];
interface Site {
  readonly path: Path;
  readonly type: 'array' | 'map' | 'model';
}

/** The lists, maps and structs of an object's model, where the object has what they are in. */
function* sitesOf(model: Model, object: Json, path: Path): Generator<Site> {
  if (path.length > depthMax) return;
  for (const field of model.order) {
    const { type, name } = field;
    if (type !== 'array' && type !== 'map' && type !== 'model') continue;
    const at = [...path, name];
    yield { path: at, type };
    const value = object[name];
    if (type === 'model' && value) yield* sitesOf(field.model, value, at);
    if (type === 'array' && value?.[0] && field.items?.type === 'model')
      yield* sitesOf(field.items.model, value[0], [...at, 0]);
  }
}

const forms: Readonly<Record<Site['type'], readonly unknown[]>> = {
  array: [absent, null, [], [null], [{}]],
  map: [absent, null, {}, { a: null }],
  model: [absent, null, {}],
};

/** Before a release all; else the first two at every place, and one of the others in turn. The first alone is stored then. */
const formsAt = (type: Site['type'], turn: number): readonly unknown[] => {
  const [first, second, ...others] = forms[type];
  return isRelease ? forms[type] : [first, second, others[turn % others.length]];
};

/** A copy in which a field has another value; undefined when it has not what the field is in. */
function changed(object: Json, path: Path, value: unknown): Json | undefined {
  const copy = structuredClone(object);
  let inner = copy;
  for (const step of path.slice(0, -1)) inner = inner?.[step];
  if (!inner) return undefined;
  const last = path.at(-1)!;
  if (value === absent) delete inner[last];
  else inner[last] = value;
  return copy;
}

/** The field alone, in objects that hold nothing else; with the whole of a list that it is in. */
function alone(object: Json, path: Path, value: unknown): Json {
  const [top] = path;
  if (path.some((step) => typeof step === 'number')) return { [top!]: changed(object, path, value)![top!] };
  return path.reduceRight<Json>((inner, step) => ({ [step]: inner }), value === absent ? null : value);
}

/** As a client would write it by itself. */
function fresh(object: Json): Json {
  const { kind, apiVersion, metadata, status: _, ...rest } = structuredClone(object);
  const { uid: _uid, resourceVersion: _version, managedFields: _managed, ...kept } = metadata ?? {};
  return { kind, apiVersion, metadata: kept, ...rest };
}

/**
 * Templates of pods are alike in all kinds; those of one are enough, before a release, and else pods themselves. A
 * definition's schema has rules of its own.
 */
const isElsewhere = (kind: Kind, { path }: Site): boolean =>
  (path[0] === 'metadata' && kind.kind !== 'ConfigMap') ||
  (path.includes('template') && path.length > 3 && !(isRelease && kind.kind === 'PodTemplate')) ||
  path.includes('openAPIV3Schema');

describe('what is not there', () => {
  const target = useTarget({ controllers: false, like: 'kubernetes' });
  beforeAll(async () => {
    await target.post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  });

  const send = async (
    method: string,
    path: string,
    body?: Json,
    type = 'application/json',
  ): Promise<Reply> => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const reply = await target.request(method, path, text, { 'Content-Type': type });
    const failures = target.failures.splice(0).map(({ stack }) => stack);
    if (failures.length || isFault(reply))
      throw new Error([`${method} ${path} ${type} ${text}`, reply.text, ...failures].join('\n'));
    return reply;
  };

  /** On the object as it is, without a trace: before a release in every way, else in the next one each time. */
  async function changes(whole: string, object: Json, { path }: Site, form: unknown): Promise<void> {
    const { kind, apiVersion, metadata } = object;
    const dry = `${whole}?dryRun=All`;
    const part = alone(object, path, form);
    const operation = form === absent ? { op: 'remove' } : { op: 'add', value: form };
    const applied = { kind, apiVersion, ...part, metadata: { ...part.metadata, name: metadata.name } };
    const ways = [
      () => send('PUT', dry, fresh(changed(object, path, form)!)),
      () => send('PATCH', dry, part, mergePatch),
      () => send('PATCH', dry, part, strategicPatch),
      () => send('PATCH', dry, [{ ...operation, path: `/${path.join('/')}` }], jsonPatch),
      () => send('PATCH', `${dry}&force=true&fieldManager=sweep`, applied, applyPatch),
    ];
    for (const way of isRelease ? ways : [ways[turn++ % ways.length]!]) await way();
  }
  let turn = 0;

  /** On an object that is stored without the field: before a release in every way, else in the next one each time. */
  async function changesOf(at: string, { kind, apiVersion, metadata }: Json): Promise<void> {
    const note = { metadata: { annotations: { noted: 'yes' } } };
    const label = [{ op: 'add', path: '/metadata/labels', value: { labelled: 'yes' } }];
    const applied = { kind, apiVersion, metadata: { name: metadata.name, annotations: { applied: 'yes' } } };
    const ways = [
      () => send('PATCH', at, note, mergePatch),
      () => send('PATCH', at, note, strategicPatch),
      () => send('PATCH', at, label, jsonPatch),
      async () =>
        expect((await send('PATCH', `${at}?fieldManager=sweep`, applied, applyPatch)).status).toBe(200),
      async () => {
        const shown = await send('GET', at);
        expect((await send('PUT', at, shown.body)).text).toBe(shown.text);
      },
      () => target.get(at, { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }),
    ];
    for (const way of isRelease ? ways : [ways[storedTurn++ % ways.length]!]) await way();
  }
  let storedTurn = 0;
  let siteTurn = 0;

  const kinds = builtinKinds.filter(
    ({ hidden, verbs }) => !hidden && verbs.includes('create') && verbs.includes('patch'),
  );
  it.each(kinds.map((kind) => [`${kind.apiVersion} ${kind.kind}`, kind] as const))(
    'in %s',
    async (_id, kind) => {
      const home = homeOf(kind);
      const made = await send('POST', home, validBody(kind, `whole-${kind.version}-${kind.group.length}`));
      expect(made.status, made.text).toBe(201);
      const { name } = made.body.metadata;
      let created = 0;
      for (const site of sitesOf(kind.model, made.body, [])) {
        if (isElsewhere(kind, site)) continue;
        const codes: number[] = [];
        const tried = formsAt(site.type, siteTurn);
        const changedTo = isRelease ? tried : [tried[Math.floor(siteTurn / 3) % tried.length]];
        siteTurn++;
        for (const form of tried) {
          if (changedTo.includes(form)) await changes(`${home}/${name}`, made.body, site, form);
          // Names of some kinds follow from their content; kinds that are stored alike must not share names.
          const other = validBody(kind, `part-${kind.version}-${kind.group.length}-${created++}`);
          const variant = changed(other, site.path, form) ?? changed(fresh(made.body), site.path, form);
          if (!variant) continue;
          if (variant.metadata?.name) variant.metadata.name = other.metadata.name;
          const isKept = isRelease || form === absent;
          const reply = await send('POST', isKept ? home : `${home}?dryRun=All`, variant);
          codes.push(reply.status);
          if (reply.status !== 201 || !isKept) continue;
          const at = `${home}/${reply.body.metadata.name}`;
          // Both are stored alike.
          if (form === absent || form === null) await changesOf(at, reply.body);
          await target.delete(`${at}?gracePeriodSeconds=0`);
        }
        expect(codes[1], site.path.join('.')).toBe(codes[0]);
      }
    },
    600_000,
  );
});
