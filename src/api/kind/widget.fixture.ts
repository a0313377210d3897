/** Widgets: a kind that tests add, replace and remove at run time. */

import { type FieldDefinition, type FieldTableFile, modelsOf } from '../model/model.ts';
import type { ApiObject } from '../text/object.ts';
import { defineKind, type Kind, type KindForm } from './kind.ts';
import { status } from './subresource.ts';

export interface Widget extends ApiObject {
  spec?: { size?: number; color?: string; weight?: number; parts?: { name: string; count?: number }[] };
  status?: { phase?: string };
}

/** The field table of `example.com/v1`; with further fields of the spec when they are given. */
export const widgetTable = (
  apiVersion = 'example.com/v1',
  more: Record<string, FieldDefinition> = {},
): FieldTableFile => ({
  apiVersion,
  models: {
    Widget: {
      description: 'A thing of a certain size.',
      order: ['kind', 'apiVersion', 'metadata', 'spec', 'status'],
      fields: {
        kind: { type: 'string' },
        apiVersion: { type: 'string' },
        metadata: { ref: 'core-v1:ObjectMeta', empty: 'zero', pb: [1, 'ObjectMeta'] },
        spec: { ref: 'WidgetSpec', pb: [2, 'WidgetSpec'] },
        status: { ref: 'WidgetStatus', pb: [3, 'WidgetStatus'] },
      },
    },
    WidgetSpec: {
      order: ['size', 'color', 'parts', ...Object.keys(more)],
      fields: {
        size: { type: 'integer', format: 'int32', description: 'How large it is.', pb: [1, 'int32'] },
        color: { type: 'string', pb: [2, 'string'] },
        parts: {
          type: 'array',
          items: { ref: 'WidgetPart' },
          patchStrategy: 'merge',
          patchMergeKey: 'name',
          pb: [3, 'repeated WidgetPart'],
        },
        ...more,
      },
    },
    WidgetPart: {
      order: ['name', 'count'],
      fields: {
        name: { type: 'string', pb: [1, 'string'] },
        count: { type: 'integer', format: 'int32', pb: [2, 'int32'] },
      },
    },
    WidgetStatus: { order: ['phase'], fields: { phase: { type: 'string', pb: [1, 'string'] } } },
  },
});

export const widgetKind = (form: Partial<KindForm<Widget>> = {}, table = widgetTable()): Kind =>
  defineKind<Widget>({
    kind: 'Widget',
    resource: 'widgets',
    singular: 'widget',
    shortNames: ['wd'],
    categories: ['all'],
    group: 'example.com',
    model: modelsOf(table)('Widget'),
    namespaced: true,
    subresources: [status()],
    generationOf: 'spec',
    selectableFields: { 'spec.color': ({ spec }) => spec?.color ?? '' },
    columns: [
      { name: 'Name', format: 'name', description: 'Name of the widget.' },
      { name: 'Size', type: 'integer', description: 'How large it is.' },
    ],
    cells: ({ metadata, spec }) => [metadata.name, spec?.size ?? 0],
    ...form,
  });

/** A kind of another group with the name of a core resource. */
export const otherServiceKind = (): Kind =>
  defineKind({
    kind: 'Service',
    resource: 'services',
    singular: 'service',
    group: 'serving.knative.dev',
    model: modelsOf({
      apiVersion: 'serving.knative.dev/v1',
      models: {
        Service: {
          order: ['kind', 'apiVersion', 'metadata', 'spec'],
          fields: {
            kind: { type: 'string' },
            apiVersion: { type: 'string' },
            metadata: { ref: 'core-v1:ObjectMeta', empty: 'zero' },
            spec: { type: 'object', raw: true },
          },
        },
      },
    })('Service'),
    namespaced: true,
  });

/** A widget in the envelope of Kubernetes' protobuf, written by hand. */
export function protobufWidget(name: string, size: number): Buffer {
  const part = (field: number, content: Buffer | string): Buffer => {
    const bytes = Buffer.from(content as string);
    return Buffer.concat([Buffer.from([(field << 3) | 2, bytes.length]), bytes]);
  };
  const typeMeta = Buffer.concat([part(1, 'example.com/v1'), part(2, 'Widget')]);
  const raw = Buffer.concat([part(1, part(1, name)), part(2, Buffer.from([0x08, size]))]);
  return Buffer.concat([Buffer.from('k8s\0'), part(1, typeMeta), part(2, raw)]);
}
