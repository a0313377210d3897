/**
 * Proves that the common kinds and fields have descriptions, and that every description belongs to an existing field.
 */
import { describe, expect, it } from 'vitest';
import { tableDescriptions } from '../generated/descriptions.ts';
import { componentStatus } from '../kinds/core/component-status.ts';
import { builtinKinds } from '../kinds/kinds.ts';
import { Descriptions, type TableDescriptions } from './descriptions.ts';
import { findModel, type Model, modelOf } from './model.ts';
import shared from './shared-descriptions.json' with { type: 'json' };

/** Longer texts belong into a manual. */
const charactersMax = 240;

const tables: Record<string, TableDescriptions> = tableDescriptions;
const descriptions = await Descriptions.load();

const undescribed = (model: Model): string[] =>
  [...model.fields.values()]
    .filter((field) => !descriptions.field(model, field))
    .map((field) => `${model.name}.${field.name}`);

describe('descriptions', () => {
  it('are there for every kind and every list', () => {
    const kinds = [...builtinKinds, componentStatus].map(({ model }) => model);
    const lists = kinds.map((model) => modelOf(`${model.name}List`, model.file));
    for (const model of [...kinds, ...lists]) {
      expect(descriptions.model(model), model.name).toBeTruthy();
      expect(undescribed(model)).toEqual([]);
    }
  });

  it.each(['ObjectMeta', 'PodSpec', 'Container', 'ServiceSpec'])(
    'are there for every field of %s',
    (name) => {
      expect(undescribed(modelOf(name))).toEqual([]);
    },
  );

  it('are there for what specs and statuses are made of', () => {
    for (const { model } of builtinKinds)
      for (const part of ['spec', 'status']) {
        const field = model.fields.get(part);
        if (field) expect(undescribed(field.model)).toEqual([]);
      }
  });

  it('are about models and fields that there are', () => {
    const unknown: string[] = [];
    for (const [table, models] of Object.entries(tables))
      for (const [name, { fields = {}, like }] of Object.entries(models)) {
        const model = findModel(name, table);
        if (!model || (like !== undefined && !findModel(like, table))) unknown.push(`${table}:${name}`);
        for (const field of Object.keys(fields))
          if (!model?.fields.has(field)) unknown.push(`${table}:${name}.${field}`);
      }
    expect(unknown).toEqual([]);
  });

  it('are short sentences', () => {
    const texts = [
      ...Object.values<string>(shared.types),
      ...Object.values(tables).flatMap((models) =>
        Object.values(models).flatMap(({ about, fields = {} }) => [about!, ...Object.values(fields)]),
      ),
    ];
    expect(texts.length).toBeGreaterThan(1000);
    expect(texts.filter((text) => !/^[A-Z$0-9].*\.$/.test(text) || text.length > charactersMax)).toEqual([]);
    // Older kubectl uses the description as a printf format.
    expect(texts.filter((text) => text.includes('%'))).toEqual([]);
  });

  it('of a model that is like another are those of the other, but for its own', () => {
    const container = modelOf('Container');
    const ephemeral = modelOf('EphemeralContainer');
    const text = (model: Model, name: string) => descriptions.field(model, model.fields.get(name)!);
    expect(text(ephemeral, 'image')).toBe(text(container, 'image'));
    expect(text(ephemeral, 'ports')).not.toBe(text(container, 'ports'));
  });

  it('of a list name what it lists', () => {
    expect(descriptions.model(modelOf('PodList'))).toBe('A list of objects of the kind Pod.');
    expect(descriptions.field(modelOf('PodList'), modelOf('PodList').fields.get('items')!)).toBe(
      'The objects.',
    );
  });
});
