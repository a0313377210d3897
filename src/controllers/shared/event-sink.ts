/** Event sink: events of controllers are written through the registry's verbs. */
import type { ApiObject } from '../../api/text/object.ts';
import { EventRecorder, type RecorderOptions } from '../../client/events.ts';
import { collectionOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { ControllerContext, Writer } from './controller.ts';

/** An event recorder for a controller: `component` is the source of its events; for the options see the recorder. */
export function recorderFor(
  { registry, writing, request, onError }: Writer & Pick<ControllerContext, 'onError'>,
  component: string,
  more: Pick<RecorderOptions, 'host' | 'actions'> = {},
): EventRecorder {
  const kind = registry.kinds.resource('v1', 'events')!;
  return new EventRecorder(
    {
      create: async (namespace, event) => {
        const target = collectionOf(kind, namespace);
        const { name } = await create(writing, request('create'), target, event as ApiObject);
        return { metadata: { name } };
      },
      patch: async (namespace, name, patch) => {
        await modify(writing, request('update'), { kind, namespace, name, part: 'main' }, (current) => ({
          ...current.object(),
          ...patch,
        }));
      },
    },
    { component, ...more, now: () => registry.sources.nowMs(), onError },
  );
}
