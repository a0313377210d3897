/** Proves that changes of the table of kinds are atomic, keep it consistent, and reach all followers. */
import { describe, expect, it } from 'vitest';
import type { Kind } from '../kind/kind.ts';
import type { KindChange } from '../kind/kind-change.ts';
import { otherServiceKind, type Widget, widgetKind, widgetTable } from '../kind/widget.fixture.ts';
import { encodeObject } from '../model/encode.ts';
import { modelOf, modelsOf } from '../model/model.ts';
import { builtinKinds, KindTable } from './kinds.ts';

const names = (kinds: Iterable<Kind>): string[] =>
  [...kinds].map(({ apiVersion, resource }) => `${apiVersion} ${resource}`);

/** A version of widgets that is stored as another. */
const otherVersion = (stored: Kind, version = 'v1beta1'): Kind =>
  widgetKind({
    version,
    stored: { kind: stored, toStored: (object) => object, fromStored: (object) => object as Widget },
  });

describe('the table of kinds', () => {
  it('shows a kind that is added, the one that replaces it, and none when it is removed', async () => {
    const table = new KindTable();
    const before = names(table);
    const first = widgetKind();
    await table.add(first, otherServiceKind());
    expect(table.resource('example.com/v1', 'widgets')).toBe(first);
    expect(table.kind('example.com/v1', 'Widget')).toBe(first);
    expect(table.resource('v1', 'services')!.group).toBe('');
    expect(table.resource('serving.knative.dev/v1', 'services')!.id).toBe('serving.knative.dev/services');
    const added = ['example.com/v1 widgets', 'serving.knative.dev/v1 services'];
    expect(names(table)).toEqual([...before, ...added]);

    const second = widgetKind();
    await table.replace(second);
    expect(names(table)).toEqual([...before, ...added]);
    expect([...table.inVersion('example.com/v1')]).toEqual([second]);
    expect([...table.stored()]).toContain(second);
    expect([...table.versions('example.com/widgets')]).toEqual([second]);

    await table.remove(second, table.resource('serving.knative.dev/v1', 'services')!);
    expect(names(table)).toEqual(before);
    expect(table.kind('example.com/v1', 'Widget')).toBeUndefined();
    expect([...table.inVersion('example.com/v1'), ...table.versions('example.com/widgets')]).toEqual([]);
    expect(names(new KindTable())).toEqual(names(builtinKinds));
  });

  it('counts generations, of all kinds and of each version', async () => {
    const table = new KindTable();
    const [whole, core, none] = [
      table.generation,
      table.generationOf('v1'),
      table.generationOf('example.com/v1'),
    ];
    await table.add(widgetKind());
    const added = table.generationOf('example.com/v1');
    expect(table.generation).toBeGreaterThan(whole);
    expect([table.generationOf('v1'), none]).toEqual([core, 0]);
    await table.replace(widgetKind());
    expect(table.generationOf('example.com/v1')).toBeGreaterThan(added);
    await table.remove(table.resource('example.com/v1', 'widgets')!);
    expect(table.generationOf('example.com/v1')).toBe(0);
    await table.add(widgetKind());
    expect(table.generationOf('example.com/v1')).toBeGreaterThan(added + 1);
  });

  it('changes versions of one kind together', async () => {
    const table = new KindTable();
    const stored = widgetKind();
    const other = otherVersion(stored);
    await table.add(stored, other);
    expect([...table.versions('example.com/widgets')]).toEqual([stored, other]);
    // New versions: the stored one is replaced, one is removed, one is added.
    const now = widgetKind();
    const newest = otherVersion(now, 'v2');
    await table.change({ replace: [now], remove: [other], add: [newest] });
    expect([...table.versions('example.com/widgets')]).toEqual([now, newest]);
    await expect(table.remove(now)).rejects.toThrow('are not stored as one of them');
    await table.remove(newest);
    await table.remove(now);
    expect([...table.versions('example.com/widgets')]).toEqual([]);
  });

  it('refuses what does not hold together, and stays as it is', async () => {
    const table = new KindTable();
    const stored = widgetKind();
    await table.add(stored, otherVersion(stored));
    const { generation } = table;
    const before = names(table);
    const says = (change: Promise<void>, why: string) => expect(change).rejects.toThrow(why);
    await says(table.add(widgetKind()), 'there is a example.com/v1 widgets already');
    await says(
      table.add(widgetKind({ resource: 'wheels' })),
      'there is a kind Widget in example.com/v1 already',
    );
    await says(table.add(widgetKind({ group: 'core' })), 'a group cannot be called core');
    await says(table.add(otherVersion(widgetKind(), 'v2')), 'are not stored as one of them');
    await says(table.add(widgetKind({ version: 'v2' })), 'are not stored as one of them');
    await says(table.remove(widgetKind()), 'example.com/v1 widgets is not in the table');
    await says(table.remove(stored), 'are not stored as one of them');
    await says(table.replace(widgetKind({ version: 'v3' })), 'example.com/v3 widgets is not in the table');
    await says(table.replace(widgetKind()), 'are not stored as one of them');
    for (const form of [{ kind: 'Wheel' }, { namespaced: false }])
      await says(table.replace(widgetKind(form)), 'has another name, scope or storage');
    await says(table.change({ replace: [stored], remove: [stored] }), 'a kind is changed twice at once');
    expect([table.generation, names(table)]).toEqual([generation, before]);
  });

  it('shows a change when all who take part are ready, and then tells it', async () => {
    const table = new KindTable();
    const happened: string[] = [];
    const kind = widgetKind();
    const served = (): boolean => table.resource('example.com/v1', 'widgets') === kind;
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    table.prepareWith(async ({ added }) => {
      happened.push(`asked ${names(added)}`);
      await held;
      happened.push(`ready ${served()}`);
      return {
        commit: () => void happened.push(`made ${served()}`),
        abandon: () => void happened.push('no'),
      };
    });
    const leave = table.follow(({ added, removed }) =>
      happened.push(`told ${names(added)} ${names(removed)} ${served()}`),
    );
    const done = table.add(kind);
    // The next change waits for the one before.
    const gone = table.remove(kind);
    await new Promise((resolve) => setImmediate(resolve));
    expect(happened).toEqual(['asked example.com/v1 widgets']);
    letGo();
    await done;
    expect(happened.splice(0)).toEqual([
      'asked example.com/v1 widgets',
      'ready false',
      'made true',
      'told example.com/v1 widgets  true',
    ]);
    await gone;
    expect(happened.splice(0)).toEqual([
      'asked ',
      'ready true',
      'made false',
      'told  example.com/v1 widgets false',
    ]);
    leave();
    await table.add(kind);
    expect(happened).toEqual(['asked example.com/v1 widgets', 'ready false', 'made true']);
  });

  it('does not change when something cannot get ready; others are told that nothing happens', async () => {
    const table = new KindTable();
    const happened: string[] = [];
    const note = (what: string) => () => void happened.push(what);
    table.prepareWith(async () => ({ commit: note('commit'), abandon: note('abandon') }));
    table.follow(note('told'));
    const stop = table.prepareWith(() => Promise.reject(new Error('not now')));
    await expect(table.add(widgetKind())).rejects.toThrow('not now');
    expect(happened.splice(0)).toEqual(['abandon']);
    expect(table.resource('example.com/v1', 'widgets')).toBeUndefined();
    stop();
    await table.add(widgetKind());
    expect(happened).toEqual(['commit', 'told']);
  });

  it('tells all who follow, also when one of them fails', async () => {
    const table = new KindTable();
    const told: KindChange[] = [];
    table.follow(() => {
      throw new Error('no');
    });
    table.follow((change) => void told.push(change));
    await expect(table.add(widgetKind())).rejects.toThrow('no');
    expect(told).toHaveLength(1);
    expect(table.resource('example.com/v1', 'widgets')).toBeDefined();
  });
});

describe('models that come at run time', () => {
  it('refer to each other and to built-in ones, and belong to their kind alone', () => {
    const models = modelsOf(widgetTable());
    const widget = models('Widget');
    expect(widget.fields.get('metadata')!.model).toBe(modelOf('ObjectMeta'));
    expect(widget.fields.get('spec')!.model.fields.get('parts')!.items!.model).toBe(models('WidgetPart'));
    expect(models('WidgetList').fields.get('items')!.items!.model).toBe(widget);
    // Another table with the same model names has its own models, also for later lookups.
    const others = modelsOf(widgetTable('example.com/v1', { weight: { type: 'integer' } }));
    const spec = others('Widget').fields.get('spec')!.model;
    expect([...spec.fields.keys()]).toContain('weight');
    expect([...models('WidgetSpec').fields.keys()]).not.toContain('weight');
    const object = { kind: 'Widget', spec: { size: 1, weight: 2 } };
    expect(encodeObject(others('Widget'), object)).toContain('"weight":2');
    expect(encodeObject(widget, object)).not.toContain('weight');
    expect(() => modelOf('Widget', 'example.com/v1')).toThrow('there is no model example.com/v1:Widget');
  });

  it('are refused when they make no sense', () => {
    const model = (fields: object, order: string[] = []) =>
      modelsOf({ apiVersion: 'example.com/v1', models: { M: { order, fields: { ...fields } } } })('M');
    expect(() => model({ ['__proto__' as string]: { type: 'string' } })).toThrow('called __proto__');
    expect(() => model({}, ['a'])).toThrow('the model M has no field a to be written');
    expect(() => model({ a: { ref: 'None' } }).fields.get('a')!.model).toThrow('there is no model');
    expect(() => modelsOf(widgetTable('v1'))).toThrow('needs a group');
  });
});
